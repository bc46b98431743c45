#include "messages.h"

#include <cstdio>
#include <vector>

#include "block.h"
#include "thread.h"

namespace octavo::emulation {

std::string to_text(const cuda::uint3& index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
         std::to_string(index.z) + ")";
}

std::string to_text(const cuda::dim3& extent) {
  return to_text(cuda::uint3{extent.x, extent.y, extent.z});
}

std::string to_text(Site site) {
  return std::string(site.file) + ":" + std::to_string(site.line) + ":" +
         std::to_string(site.column);
}

std::string to_hex(unsigned mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

std::string placed(Operation operation, Site site) {
  return std::string(name_of(operation)) + " at " + to_text(site);
}

std::string named(const Thread& thread) {
  return "thread " + to_text(thread.index);
}

std::string waits_of(Block& block) {
  constexpr std::size_t kMaxPlaces = 4;
  struct Place {
    const Thread* first;
    unsigned threads;
  };
  std::vector<Place> places;
  for (unsigned i = 0; i < block.threads(); ++i) {
    const Thread& thread = block.thread(i);
    if (!thread.is_running || thread.waits_in == Operation::None) {
      continue;
    }
    bool found = false;
    for (Place& place : places) {
      if (place.first->waits_in == thread.waits_in && place.first->waits_at == thread.waits_at) {
        ++place.threads;
        found = true;
        break;
      }
    }
    if (!found) {
      places.push_back({&thread, 1});
    }
  }
  std::string text;
  for (std::size_t i = 0; i < places.size() && i < kMaxPlaces; ++i) {
    const Thread& first = *places[i].first;
    text += text.empty() ? "" : "; ";
    text += std::to_string(places[i].threads) + " from " + named(first) + " on wait in " +
            placed(first.waits_in, first.waits_at);
  }
  return text;
}

}  // namespace octavo::emulation

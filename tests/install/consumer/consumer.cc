// What a project that embeds the library does first: two sessions, the second of which continues
// the first. It is compiled against an installed Octavo, so it may only know what is installed.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "octavo/block_manager.h"
#include "octavo/error.h"

int main() {
  octavo::BlockManager manager({.num_blocks = 64, .block_size = 16, .max_seqs = 2});
  std::vector<std::int32_t> tokens;
  for (std::int32_t id = 0; id < 48; ++id) {
    tokens.push_back(id);
  }
  const std::vector<std::int32_t> first(tokens.begin(), tokens.begin() + 40);

  const std::vector<std::int32_t> slots{0};
  const std::vector<std::int32_t> counts{40};
  std::vector<std::int32_t> offsets{-1};
  manager.admit(0, first);
  manager.reserve(slots, counts, offsets);
  manager.retire(0, first);
  const auto cached = static_cast<long long>(manager.admit(1, tokens));
  manager.audit();

  try {
    manager.evict(7);
  } catch (const octavo::Error& error) {
    std::printf("%lld of %zu tokens cached, %s\n", cached, tokens.size(),
                octavo::to_string(error.code()) == "INVALID_ARGUMENT" ? "slot 7 refused" : "?");
  }
  return 0;
}

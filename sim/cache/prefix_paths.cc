#include "prefix_paths.h"

#include <algorithm>

#include "octavo/error.h"

namespace octavo::sim {

std::span<const std::uint32_t> PrefixPaths::walk(std::span<const std::uint64_t> ids) {
  numbers_.resize(ids.size());
  std::uint32_t last = PrefixNodes::kNone;
  for (std::size_t done = 0; done < ids.size();) {
    const std::uint32_t found = heads_.find_or_add(last, ids[done]);
    if (found == stretches_.size()) {
      add_stretch(ids.subspan(done));
    }
    const Stretch& stretch = stretches_[found];
    const std::uint64_t* known = ids_.data() + stretch.begin;
    const std::size_t most = std::min<std::size_t>(stretch.length, ids.size() - done);
    std::size_t same = 0;
    do {
      numbers_[done + same] = stretch.first + static_cast<std::uint32_t>(same);
      ++same;
    } while (same < most && known[same] == ids[done + same]);
    done += same;
    last = numbers_[done - 1];
  }
  return numbers_;
}

std::uint32_t PrefixPaths::take(std::size_t count) {
  if (count > PrefixNodes::kNone - next_) {
    throw Error(ErrorCode::ResourceExhausted, "trace: more than 2^32 - 1 distinct prefixes");
  }
  const std::uint32_t first = next_;
  next_ += static_cast<std::uint32_t>(count);
  return first;
}

void PrefixPaths::add_stretch(std::span<const std::uint64_t> ids) {
  stretches_.push_back({ids_.size(), static_cast<std::uint32_t>(ids.size()), take(ids.size())});
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace octavo::sim

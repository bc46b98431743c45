#include "prefix_nodes.h"

#include <utility>

#include "octavo/error.h"

namespace octavo::sim {

PrefixNodes::PrefixNodes() : slots_(1024), mask_(slots_.size() - 1) {}

// The finalizer of splitmix64: every bit of the result depends on every bit of the word.
std::uint64_t PrefixNodes::mix(std::uint64_t word) noexcept {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
  return word ^ (word >> 31);
}

// An id begins at its home. In a trace of prefix ids it has one parent and is found there. An id
// that is met behind another parent goes on at a place that both of them decide, so that an id with
// very many parents costs no more than others. Nothing is ever removed, so a search that follows
// the same rule as the insertion ends at the same slot.
PrefixNodes::Slot& PrefixNodes::find(std::uint32_t parent, std::uint64_t id) noexcept {
  std::size_t at = home(id);
  for (; slots_[at].node != kNone; at = (at + 1) & mask_) {
    if (slots_[at].id == id) {
      if (slots_[at].parent == parent) {
        return slots_[at];
      }
      break;
    }
  }
  if (slots_[at].node == kNone) {
    return slots_[at];
  }
  at = mix(id ^ mix(std::uint64_t{parent} + 1)) & mask_;
  while (slots_[at].node != kNone && (slots_[at].id != id || slots_[at].parent != parent)) {
    at = (at + 1) & mask_;
  }
  return slots_[at];
}

std::uint32_t PrefixNodes::find_or_add(std::uint32_t parent, std::uint64_t id) {
  Slot& slot = find(parent, id);
  if (slot.node != kNone) {
    return slot.node;
  }
  if (next_ == kNone) {
    throw Error(ErrorCode::ResourceExhausted, "trace: more than 2^32 - 1 distinct prefixes");
  }
  const std::uint32_t node = next_++;
  slot = {id, parent, node};
  if (std::size_t{next_} * 8 > slots_.size() * 5) {
    grow();
  }
  return node;
}

void PrefixNodes::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.node != kNone) {
      find(slot.parent, slot.id) = slot;
    }
  }
}

}  // namespace octavo::sim

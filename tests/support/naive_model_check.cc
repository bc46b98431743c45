// The model looks at itself: are the rules sound, and is a state one that was seen already?
#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "naive_model.h"

namespace octavo::testkit {
namespace {

void demand(bool holds, const char* what) {
  if (!holds) {
    throw std::logic_error(std::string("naive model: ") + what);
  }
}

/// Numbers blocks in the order in which they are first met.
class Renamer {
 public:
  std::string operator()(Block block) {
    if (block == kNoBlock) {
      return "-";
    }
    return std::to_string(names_.try_emplace(block, names_.size()).first->second);
  }

 private:
  std::map<Block, std::size_t> names_;
};

void print(std::ostream& out, const Tokens& tokens) {
  for (const Token token : tokens) {
    out << token << ',';
  }
}

}  // namespace

std::string_view to_string(Branch branch) {
  static_assert(static_cast<int>(Branch::WindowReleased) + 1 == kBranches);
  constexpr std::array<std::string_view, kBranches> kNames = {
      "TakenOver",          "CopiedOnAdmit",     "CopiedFromLive",
      "SourceSpared",       "CopyDropped",       "CopiedOnWrite",
      "OwnBlockReused",     "GivenUp",           "PromptCut",
      "Duplicate",          "DuplicateUnparked", "DuplicateParked",
      "TakenOverSealed",    "KeyRenamed",        "KeyDisplaced",
      "KeyDisplacedFrees",  "KeyDisplacedHeld",  "Evicted",
      "Quarantined",        "KeyQuarantined",    "StaleAdmitted",
      "StaleSealedNothing", "StaleRetired",      "AddressableCut",
      "WindowReleased"};
  return kNames[static_cast<std::size_t>(branch)];
}

void NaiveModel::check() const {
  std::set<Block> in_use(parked_.begin(), parked_.end());
  demand(in_use.size() == parked_.size(), "a block is parked twice");
  for (const Block block : parked_) {
    demand(holders(block) == 0, "a parked block is held");
    demand(sealed(block) || key_length(block) > 0, "a parked block has no name");
  }
  for (const Block block : quarantined_) {
    demand(in_use.insert(block).second, "a quarantined block is parked too");
    demand(holders(block) == 0, "a quarantined block is held");
  }
  std::set<Block> held;
  for (const ModelSlot& slot : slots_) {
    held.insert(slot.cells.begin(), slot.cells.end());
    demand(slot.committed <= slot.reserved, "committed is above reserved");
    demand(slot.reserved <= std::ssize(slot.cells) * config_.block_size, "a token has no cell");
  }
  held.erase(kNoBlock);
  for (const Block block : held) {
    demand(holders(block) == 1 || sealed(block), "a block is shared and not sealed");
  }
  in_use.insert(held.begin(), held.end());
  demand(std::ssize(in_use) + unused_ == config_.num_blocks, "a block is lost");

  const std::int64_t size = config_.block_size;
  std::set<Block> with_node;
  for (const auto& [node, block] : nodes_) {
    demand(with_node.insert(block).second, "a block has two nodes");
    demand(in_use.contains(block), "a node names an unused block");
    demand(std::ssize(node.tokens) % size == 0, "a node ends inside a block");
    if (std::ssize(node.tokens) > size) {
      Prefix parent = node;
      parent.tokens.resize(node.tokens.size() - static_cast<std::size_t>(size));
      demand(nodes_.contains(parent), "a node is orphaned");
    }
  }
  for (const auto& [parent, keys] : keys_) {
    demand(parent.tokens.empty() || nodes_.contains(parent), "a key is orphaned");
    demand(!keys.empty() && keys.size() <= 4, "a parent has too many keys");
    for (const PartialKey& key : keys) {
      demand(in_use.contains(key.owner), "a key names an unused block");
      demand(!key.tail.empty() && std::ssize(key.tail) < size, "a key is no partial block");
    }
  }
}

std::string NaiveModel::observable() const {
  Renamer rename;
  std::ostringstream out;
  for (const ModelSlot& slot : slots_) {
    out << "|s" << slot.fresh << ' ' << slot.space << ' ' << slot.generation.has_value()
        << stale(slot) << ' ' << slot.reserved << ' ' << slot.committed;
    for (const Block cell : slot.cells) {
      out << ' ' << rename(cell);
    }
  }
  out << "|p";
  for (const Block block : parked_) {
    out << ' ' << rename(block);
  }
  if (ordered()) {
    out << order_.print([&](Block block) { return rename(block); });
  }
  out << "|q" << quarantined_.size();
  // Generations are known by being the current one or not, so their order must not show. All blocks
  // have their names by now.
  std::multiset<std::string> names;
  for (const auto& [node, block] : nodes_) {
    std::ostringstream name;
    name << "|n" << node.space << '.' << (node.generation == generation_of(node.space)) << ' ';
    print(name, node.tokens);
    name << rename(block);
    names.insert(name.str());
  }
  for (const auto& [parent, keys] : keys_) {
    std::ostringstream name;
    name << "|k" << parent.space << '.' << (parent.generation == generation_of(parent.space))
         << ' ';
    print(name, parent.tokens);
    for (const PartialKey& key : keys) {
      name << '/';
      print(name, key.tail);
      name << rename(key.owner);
    }
    names.insert(name.str());
  }
  for (const std::string& name : names) {
    out << name;
  }
  return out.str();
}

std::string NaiveModel::fingerprint() const {
  std::ostringstream out;
  out << observable();
  for (const ModelSlot& slot : slots_) {
    out << "|h" << slot.in_flight_end << slot.stepped << ' ' << slot.released_blocks << ' '
        << slot.prompt_length << ' ' << slot.addressable << ' ' << slot.enrolled_blocks << ' ';
    print(out, slot.prompt);
    out << slot.generation.value_or(0) - generation_of(slot.space);
  }
  for (const auto& [node, block] : nodes_) {
    out << ' ' << node.generation - generation_of(node.space);
  }
  for (const auto& [parent, keys] : keys_) {
    out << ' ' << parent.generation - generation_of(parent.space);
  }
  return out.str();
}

}  // namespace octavo::testkit

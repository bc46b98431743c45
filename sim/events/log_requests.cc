#include "log_requests.h"

#include <algorithm>

namespace octavo::sim {

// The tokens on the way from the root to the parent of `op`.
void LogRequests::begin(const LogOp& op, std::vector<std::int32_t>& tokens) {
  std::vector<const Block*> way;
  for (const auto* parent = &op.parent; parent->has_value();) {
    const auto found = cached_.find(**parent);
    if (found == cached_.end()) {
      ops_.refuse("stores a block behind " + to_text(**parent) +
                  ", which is not cached, expected a log from the engine's start on");
    }
    if (way.size() > cached_.size()) {
      ops_.refuse("stores a block that is its own parent, expected a prefix");
    }
    way.push_back(&found->second);
    parent = &found->second.parent;
  }
  for (auto block = way.rbegin(); block != way.rend(); ++block) {
    tokens.insert(tokens.end(), (*block)->tokens.begin(), (*block)->tokens.end());
  }
}

bool LogRequests::next(std::vector<std::int32_t>& tokens) {
  tokens.clear();
  std::optional<KvBlockName> last;  // The block that the request ends with so far.
  while (has_op_ || ops_.next(op_)) {
    has_op_ = true;
    switch (op_.kind) {
      case KvEventKind::AllBlocksCleared:
        if (last) {
          return true;
        }
        has_op_ = false;
        cached_.clear();
        return true;
      case KvEventKind::BlockRemoved:
        cached_.erase(op_.name);
        break;
      case KvEventKind::BlockStored:
        if (op_.tokens.empty()) {
          ops_.refuse("leaves out the tokens of a block, expected them: requests come from them");
        }
        if (last && op_.parent != last) {
          return true;
        }
        if (!last) {
          begin(op_, tokens);
        }
        tokens.insert(tokens.end(), op_.tokens.begin(), op_.tokens.end());
        last = op_.name;
        cached_.insert_or_assign(op_.name, Block{op_.parent, op_.tokens});
        break;
    }
    has_op_ = false;
  }
  return last.has_value();
}

}  // namespace octavo::sim

// What naive_model*.cc share.
#pragma once

#include <algorithm>
#include <set>

#include "naive_model.h"

namespace octavo::testkit {

inline std::int64_t blocks_for(std::int64_t tokens, std::int64_t block_size) {
  return (tokens + block_size - 1) / block_size;
}

template <typename Container>
bool starts_with(NaiveModel::Ids ids, const Container& head) {
  return ids.size() >= head.size() && std::equal(head.begin(), head.end(), ids.begin());
}

/// Collects what is wrong with a call, so that the order of the checks does not matter.
class Checks {
 public:
  bool require(bool holds, ErrorCode code = ErrorCode::InvalidArgument) {
    if (!holds) {
      codes_.insert(code);
    }
    return holds;
  }
  void done() const {
    if (!codes_.empty()) {
      throw Refusal{codes_};
    }
  }

 private:
  std::set<ErrorCode> codes_;
};

}  // namespace octavo::testkit

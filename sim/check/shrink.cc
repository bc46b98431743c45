// Shrinking: the smallest log that still breaks the same kind of promise.
//
// Delta debugging (Zeller and Hildebrandt, TSE 2002) over the operations, then over the sizes in
// them and in the make-up of the cache, in turns, until neither gets anywhere or the budget of
// operations is spent. Nothing is random.

#include <algorithm>
#include <functional>

#include "octavo/error.h"
#include "octavo/sim/check/check.h"

namespace octavo::sim {
namespace {

class Shrinker {
 public:
  Shrinker(CheckResult best, const CheckOptions& options, const ShrinkLimits& limits)
      : best_(std::move(best)), options_(options), budget_(limits.operations_max) {
    StateCount* const none = nullptr;
    options_.states = none;  // Attempts count for nobody.
  }

  CheckResult run() {
    for (bool is_better = true; is_better && budget_ > 0;) {
      is_better = shrink_operations();
      is_better = shrink_setup() || is_better;
      is_better = shrink_sizes() || is_better;
    }
    return std::move(best_);
  }

 private:
  // Whether `log` fails in the same way; if so it is the best one, cut behind the failure. A replay
  // ends with a read-back of its own, so a log must also stay as short as wanted.
  bool accept(const CheckLog& log, std::int64_t ops_max) {
    if (budget_ <= 0 || log.ops.empty()) {
      return false;
    }
    CheckResult result;
    try {
      result = replay_check_log(log, options_);
    } catch (const Error&) {
      return false;  // No such cache can be made.
    }
    budget_ -= 8 + std::ssize(result.log.ops);  // Making a cache costs as much as some operations.
    if (!result.violation || result.violation->kind != best_.violation->kind ||
        std::ssize(result.log.ops) > ops_max) {
      return false;
    }
    best_ = std::move(result);
    return true;
  }

  // Removes ever smaller runs of operations.
  bool shrink_operations() {
    bool is_better = false;
    for (std::size_t run = best_.log.ops.size() / 2; run > 0; run /= 2) {
      for (std::size_t at = 0; at + run <= best_.log.ops.size() && budget_ > 0;) {
        CheckLog log = best_.log;
        const auto begin = log.ops.begin() + static_cast<std::ptrdiff_t>(at);
        log.ops.erase(begin, begin + static_cast<std::ptrdiff_t>(run));
        if (accept(log, std::ssize(best_.log.ops) - 1)) {
          is_better = true;
        } else {
          at += run;
        }
      }
    }
    return is_better;
  }

  bool attempt(const std::function<bool(CheckLog&)>& change) {
    CheckLog log = best_.log;
    return change(log) && accept(log, std::ssize(best_.log.ops));
  }

  // Halves of a number, as long as that works; then the number less one.
  template <typename Number>
  bool shrink_number(const std::function<Number&(CheckLog&)>& number, Number least) {
    bool is_better = false;
    const auto lower = [&](const std::function<Number(Number)>& smaller) {
      return attempt([&](CheckLog& log) {
        Number& value = number(log);
        const Number wanted = std::max(least, smaller(value));
        const bool changes = wanted < value;
        value = wanted;
        return changes;
      });
    };
    is_better = lower([&](Number) { return least; });
    while (lower([](Number value) { return static_cast<Number>(value / 2); }) ||
           lower([](Number value) { return static_cast<Number>(value - 1); })) {
      is_better = true;
    }
    return is_better;
  }

  bool shrink_setup() {
    bool is_better = false;
    for (std::size_t row = 0;
         best_.log.setup.rows.size() > 1 && row < best_.log.setup.rows.size();) {
      const bool has_gone = attempt([&](CheckLog& log) {
        log.setup.rows.erase(log.setup.rows.begin() + static_cast<std::ptrdiff_t>(row));
        return true;
      });
      is_better = is_better || has_gone;
      row += has_gone ? 0 : 1;
    }
    for (std::size_t row = 0; row < best_.log.setup.rows.size(); ++row) {
      is_better = attempt([&](CheckLog& log) {
                    CheckRow& mine = log.setup.rows[row];
                    const CheckRow plain{.kind = mine.kind};
                    const bool changes = !(mine == plain);
                    mine = plain;
                    return changes;
                  }) ||
                  is_better;
    }
    const auto shrink = [&](int CheckSetup::*member, int least) {
      is_better =
          shrink_number<int>([=](CheckLog& log) -> int& { return log.setup.*member; }, least) ||
          is_better;
    };
    const auto shrink_64 = [&](std::int64_t CheckSetup::*member, std::int64_t least) {
      is_better = shrink_number<std::int64_t>(
                      [=](CheckLog& log) -> std::int64_t& { return log.setup.*member; }, least) ||
                  is_better;
    };
    shrink(&CheckSetup::kv_heads, 1);
    shrink(&CheckSetup::head_dim, 8);
    shrink(&CheckSetup::slots, 1);
    shrink_64(&CheckSetup::blocks, 1);
    return is_better;
  }

  // Every number and every list in every operation.
  bool shrink_sizes() {
    bool is_better = false;
    for (std::size_t i = 0; i < best_.log.ops.size() && budget_ > 0; ++i) {
      is_better = shrink_lists(i) || is_better;
      if (i < best_.log.ops.size()) {
        is_better = shrink_fields(i) || is_better;
      }
    }
    return is_better;
  }

  // An accepted attempt may have cut the log: what is no longer there is left alone.
  bool change_op(std::size_t i, const std::function<bool(CheckOp&)>& change) {
    return attempt([&](CheckLog& log) { return i < log.ops.size() && change(log.ops[i]); });
  }

  template <typename Element>
  bool shrink_list(std::size_t i, std::vector<Element> CheckOp::*list) {
    bool is_better = false;
    for (std::size_t at = 0; i < best_.log.ops.size() && at < (best_.log.ops[i].*list).size();) {
      const bool has_gone = change_op(i, [&](CheckOp& op) {
        (op.*list).erase((op.*list).begin() + static_cast<std::ptrdiff_t>(at));
        return true;
      });
      is_better = is_better || has_gone;
      at += has_gone ? 0 : 1;
    }
    return is_better;
  }

  bool shrink_lists(std::size_t i) {
    bool is_better = shrink_list(i, &CheckOp::batch);
    is_better = shrink_list(i, &CheckOp::boundaries) || is_better;
    is_better = shrink_list(i, &CheckOp::prompt) || is_better;
    const auto halve = [&](auto list, auto member, std::int32_t least) {
      for (std::size_t at = 0; i < best_.log.ops.size() && at < (best_.log.ops[i].*list).size();
           ++at) {
        const auto lower = [&](std::int32_t divisor, std::int32_t step) {
          return change_op(i, [&](CheckOp& op) {
            std::int32_t& value = (op.*list)[at].*member;
            const std::int32_t wanted = std::max(least, value / divisor - step);
            const bool changes = wanted < value;
            value = wanted;
            return changes;
          });
        };
        while (i < best_.log.ops.size() && at < (best_.log.ops[i].*list).size() &&
               (lower(2, 0) || lower(1, 1))) {
          is_better = true;
        }
      }
    };
    halve(&CheckOp::prompt, &TokenRun::count, 1);
    halve(&CheckOp::batch, &CheckStepEntry::count, 1);
    halve(&CheckOp::batch, &CheckStepEntry::back, 0);
    return is_better;
  }

  bool shrink_fields(std::size_t i) {
    bool is_better = false;
    for (const auto member : {&CheckOp::device_after, &CheckOp::alloc_after,
                              &CheckOp::host_alloc_after, &CheckOp::addressable}) {
      is_better = change_op(i,
                            [&](CheckOp& op) {
                              const bool changes =
                                  op.*member >= 0 &&
                                  !(op.verb == CheckVerb::Make && member == &CheckOp::alloc_after);
                              op.*member = -1;
                              return changes;
                            }) ||
                  is_better;
    }
    const bool is_choice = i < best_.log.ops.size() && best_.log.ops[i].verb == CheckVerb::Wrong;
    for (const auto divisor : {0, 2, 1}) {
      while (!is_choice && change_op(i, [&](CheckOp& op) {
        const std::int64_t wanted = divisor == 0 ? 0 : op.number / divisor - (divisor == 1 ? 1 : 0);
        const bool changes = wanted >= 0 && wanted < op.number;
        op.number = wanted;
        return changes;
      })) {
        is_better = true;
      }
    }
    return is_better;
  }

  CheckResult best_;
  CheckOptions options_;
  std::int64_t budget_;
};

}  // namespace

CheckResult shrink_check(const CheckResult& failed,
                         const CheckOptions& options,
                         const ShrinkLimits& limits) {
  if (!failed.violation) {
    throw Error(ErrorCode::InvalidArgument, "check: nothing failed, so there is nothing to shrink");
  }
  CheckResult best = Shrinker(failed, options, limits).run();
  best.drawn = failed.drawn;
  return best;
}

}  // namespace octavo::sim

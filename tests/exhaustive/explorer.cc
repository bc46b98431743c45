#include "explorer.h"

#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "lockstep.h"

namespace octavo::testkit {
namespace {

constexpr std::size_t kStart = static_cast<std::size_t>(-1);

class Explorer {
 public:
  explicit Explorer(const Scope& scope) : scope_(scope), lockstep_(scope.config) {}

  Explored run() {
    std::vector<State> level;
    level.push_back({kStart, World(scope_.config), lockstep_.mirror(), lockstep_.digest()});
    found_.states = 1;
    while (!level.empty() && found_.depth < scope_.depth &&
           (scope_.states_max == 0 || found_.states < scope_.states_max)) {
      std::vector<State> next;
      for (const State& state : level) {
        expand(state, next);
      }
      level = std::move(next);
      ++found_.depth;
    }
    return found_;
  }

 private:
  struct Step {
    std::size_t before;  ///< The step that led to the state in which it was made.
    Call call;
  };
  struct State {
    std::size_t last_step;
    World world;
    DeviceMirror mirror;
    std::uint64_t digest;
  };

  void expand(const State& state, std::vector<State>& next) {
    bool is_there = false;
    for (Call& call : scope_.calls(state.world)) {
      try {
        if (!is_there) {
          lead_to(state);
        }
        is_there = try_call(state, std::move(call), next);
      } catch (const std::exception& error) {
        throw Mismatch(error.what() + path_text(state.last_step, call));
      }
    }
  }

  /// Returns whether the manager is still in `state`.
  bool try_call(const State& state, Call&& call, std::vector<State>& next) {
    World after = state.world;
    const Outcome expected = after.perform(call);
    lockstep_.step(state.world, after, call, expected);
    after.model().check();
    ++found_.calls;
    if (expected.refused()) {
      ++found_.refused;
      if (expected.refusals.contains(ErrorCode::ResourceExhausted)) {
        expect_scarce(state.world.model(), call);
      }
      return true;
    }
    for (std::size_t i = 0; i < kBranches; ++i) {
      found_.branches[i] += after.model().branches()[i] - state.world.model().branches()[i];
    }
    const std::size_t seen_from_outside = hash_(after.model().observable());
    const auto [digest, is_new_digest] =
        digests_.try_emplace(lockstep_.digest(), seen_from_outside);
    if (digest->second != seen_from_outside) {
      throw Mismatch("two states that can be told apart have one digest");
    }
    if (seen_.emplace(lockstep_.digest(), hash_(after.fingerprint())).second) {
      ++found_.states;
      if (found_.depth + 1 == scope_.depth) {
        return false;  // Nothing is tried in the states of the last level.
      }
      steps_.push_back({state.last_step, std::move(call)});
      next.push_back({steps_.size() - 1, std::move(after), lockstep_.mirror(), lockstep_.digest()});
    }
    return false;
  }

  /// No step is refused that could have had a new block for every cell it touches.
  static void expect_scarce(const NaiveModel& model, const Call& call) {
    if (call.verb != Verb::PrepareStep && call.verb != Verb::Reserve) {
      return;
    }
    const std::int64_t size = model.config().block_size;
    std::int64_t touched = 0;
    for (std::size_t i = 0; i < call.slots.size(); ++i) {
      const bool steps = call.verb == Verb::PrepareStep;
      const std::int64_t past =
          steps ? call.past[i] : model.slots()[static_cast<std::size_t>(call.slots[i])].reserved;
      const std::int64_t count =
          steps ? call.counts[i + 1] - call.counts[i] : std::int64_t{call.counts[i]};
      touched += (past + count + size - 1) / size - past / size;
    }
    if (touched <= model.unused_blocks() + std::ssize(model.parked())) {
      throw Mismatch("exhausted with more free blocks than the step touches");
    }
  }

  void lead_to(const State& state) {
    lockstep_.restart();
    std::vector<const Call*> path;
    for (std::size_t at = state.last_step; at != kStart; at = steps_[at].before) {
      path.push_back(&steps_[at].call);
    }
    for (auto call = path.rbegin(); call != path.rend(); ++call) {
      lockstep_.replay(**call);
    }
    if (lockstep_.manager().digest() != state.digest) {
      throw Mismatch("after reset() the same calls led to another digest");
    }
    lockstep_.mirror() = state.mirror;
    lockstep_.set_digest(state.digest);
  }

  std::string path_text(std::size_t last_step, const Call& call) const {
    std::vector<const Call*> path{&call};
    for (std::size_t at = last_step; at != kStart; at = steps_[at].before) {
      path.push_back(&steps_[at].call);
    }
    std::ostringstream text;
    text << "\nafter:";
    for (auto made = path.rbegin(); made != path.rend(); ++made) {
      text << "\n  " << **made;
    }
    return text.str();
  }

  const Scope& scope_;
  Lockstep lockstep_;
  std::vector<Step> steps_;
  std::set<std::pair<std::uint64_t, std::size_t>> seen_;
  std::map<std::uint64_t, std::size_t> digests_;  ///< What can be seen of the states behind them.
  std::hash<std::string> hash_;
  Explored found_;
};

}  // namespace

std::string Explored::summary() const {
  std::ostringstream text;
  text << states << " states, " << calls << " calls (" << refused << " refused), depth " << depth
       << '\n';
  for (std::size_t i = 0; i < kBranches; ++i) {
    text << "  " << to_string(static_cast<Branch>(i)) << ": " << branches[i] << '\n';
  }
  return text.str();
}

Explored explore(const Scope& scope) {
  return Explorer(scope).run();
}

}  // namespace octavo::testkit

// Agents: loops of model call and tool call behind long shared preambles, with sub-agents.
//
// Tasks begin as a Poisson process. A task takes one of a few agents (instructions and tool
// definitions, shared by all its tasks) in one of a few projects (files that every task of that
// agent in that project starts with). Each step sends the whole context; the model's answer (a tool
// call) and the tool's result are appended before the next step. Now and then a step starts
// sub-agents, which run loops of their own behind a preamble that all sub-agents share, in sessions
// of their own; the parent waits for the last of them and goes on with their reports. A context
// that has grown too long is replaced by preamble and summary.

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "generate.h"
#include "octavo/sim/rng.h"
#include "prompt.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kTaskGapNs = 20 * kSecond;  // Between the starts of tasks.
constexpr std::int64_t kMeanToolNs = 3 * kSecond;
constexpr std::int64_t kStepTokenNs = 15 * kMillisecond;

constexpr std::size_t kAgents = 3;
constexpr std::size_t kProjects = 4;
constexpr std::array<std::uint32_t, kAgents> kAgentWeights{6, 3, 2};
constexpr std::array<std::uint32_t, kProjects> kProjectWeights{6, 3, 2, 1};

constexpr std::int64_t kTaskTokensMax = 32768;
constexpr std::int64_t kStepsMax = 40;
constexpr std::int64_t kSubStepsMax = 8;

constexpr std::array<std::uint32_t, 6> kResultOctaves{3, 5, 6, 4, 2, 1};  // From 50: 50 .. 3199
constexpr std::array<std::uint32_t, 4> kCallOctaves{4, 6, 3, 1};          // From 30: 30 .. 479

class Agents final : public Generator {
 public:
  Agents(std::uint64_t seed, std::int64_t block_size) : rng_(seed), ids_(block_size) {
    for (auto& projects : starts_) {
      Prompt preamble;
      preamble.append(ids_, rng_.between(6000, 14000));
      for (Prompt& start : projects) {
        start = preamble;
        start.append(ids_, rng_.between(500, 4000));
      }
    }
    sub_start_.append(ids_, rng_.between(3000, 5000));
  }

  void next(TraceRequest& request) override {
    if (steps_.empty() || next_start_ns_ <= steps_.begin()->first.first) {
      begin_task();
    }
    auto step = steps_.extract(steps_.begin());
    const std::int64_t now_ns = step.key().first;
    Loop& loop = step.mapped();

    const std::int64_t call_tokens = rng_.octaves(30, kCallOctaves);
    request.arrival_ns = now_ns;
    request.output_tokens = call_tokens;
    request.session = loop.session;
    loop.context.put(ids_, request);

    loop.context.append(ids_, call_tokens);
    --loop.steps_left;
    const std::int64_t written_ns = now_ns + call_tokens * kStepTokenNs;
    if (loop.steps_left == 0) {
      end_loop(loop, written_ns);
    } else if (!loop.is_sub && rng_.chance(1, 10)) {
      begin_sub_agents(std::move(loop), written_ns);
    } else {
      const std::int64_t next_ns = written_ns + rng_.exponential(kMeanToolNs);
      continue_loop(std::move(loop), rng_.octaves(50, kResultOctaves), next_ns);
    }
  }

 private:
  struct Loop {
    std::uint64_t session = 0;
    Prompt start;    // What remains of the context when it is summarised.
    Prompt context;  // As it will be sent next.
    std::int64_t steps_left = 0;
    bool is_sub = false;
    std::uint64_t parent = 0;  // Session of the parent, for a sub-agent.
  };

  // A parent that waits for its sub-agents.
  struct Waiting {
    Loop loop;
    std::int64_t sub_agents = 0;  // Still running.
    std::int64_t report_tokens = 0;
    std::int64_t resume_ns = 0;  // When the last of those that have ended did so.
  };

  void begin_task() {
    Loop loop;
    loop.session = next_session_++;
    const std::size_t agent = rng_.weighted(kAgentWeights);
    const std::size_t project = rng_.weighted(kProjectWeights);
    loop.start = starts_[agent][project];
    loop.context = loop.start;
    loop.context.append(ids_, rng_.between(40, 600));
    loop.steps_left = loop_steps(kStepsMax, 15);
    schedule(std::move(loop), next_start_ns_);
    next_start_ns_ += rng_.exponential(kTaskGapNs);
  }

  // 2 and then one more in `odds` - 1 of `odds` cases each, at most `max`.
  std::int64_t loop_steps(std::int64_t max, std::uint64_t odds) {
    std::int64_t steps = 2;
    while (steps < max && rng_.chance(odds - 1, odds)) {
      ++steps;
    }
    return steps;
  }

  void continue_loop(Loop&& loop, std::int64_t result_tokens, std::int64_t next_ns) {
    loop.context.append(ids_, result_tokens);
    if (loop.context.tokens() > kTaskTokensMax) {
      loop.context = loop.start;
      loop.context.append(ids_, rng_.between(800, 1600));
    }
    schedule(std::move(loop), next_ns);
  }

  void begin_sub_agents(Loop&& parent, std::int64_t now_ns) {
    const std::int64_t count = rng_.between(1, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      Loop sub;
      sub.session = next_session_++;
      sub.is_sub = true;
      sub.parent = parent.session;
      sub.start = sub_start_;
      sub.context = sub.start;
      sub.context.append(ids_, rng_.between(60, 400));
      sub.steps_left = loop_steps(kSubStepsMax, 6);
      schedule(std::move(sub), now_ns);
    }
    const std::uint64_t session = parent.session;
    waiting_.emplace(session, Waiting{.loop = std::move(parent), .sub_agents = count});
  }

  void end_loop(const Loop& loop, std::int64_t now_ns) {
    if (!loop.is_sub) {
      return;
    }
    const auto found = waiting_.find(loop.parent);
    Waiting& waiting = found->second;
    waiting.report_tokens += rng_.between(100, 800);
    waiting.resume_ns = std::max(waiting.resume_ns, now_ns);
    --waiting.sub_agents;
    if (waiting.sub_agents == 0) {
      continue_loop(std::move(waiting.loop), waiting.report_tokens, waiting.resume_ns);
      waiting_.erase(found);
    }
  }

  void schedule(Loop&& loop, std::int64_t time_ns) {
    steps_.emplace(std::pair(time_ns, next_order_++), std::move(loop));
  }

  Rng rng_;
  BlockIds ids_;
  std::array<std::array<Prompt, kProjects>, kAgents> starts_;
  Prompt sub_start_;
  // The next step of every loop that runs, by time and, at the same time, in the order of decision.
  std::map<std::pair<std::int64_t, std::uint64_t>, Loop> steps_;
  std::map<std::uint64_t, Waiting> waiting_;  // By session.
  std::int64_t next_start_ns_ = 0;
  std::uint64_t next_order_ = 0;
  std::uint64_t next_session_ = 0;
};

}  // namespace

std::unique_ptr<Generator> make_agent(std::uint64_t seed, std::int64_t block_size) {
  return std::make_unique<Agents>(seed, block_size);
}

}  // namespace octavo::sim

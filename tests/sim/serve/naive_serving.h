// NaiveServing: what a serving simulation must do, written from sim/SERVING.md to be slow and
// obvious. The whole trace in a vector, no queue of events (every step looks at everything for what
// comes next), every sum from scratch, the blocks of each replica in the naive model of the block
// manager, tokens numbered as they are met.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "naive_model.h"
#include "octavo/sim/rng.h"
#include "octavo/sim/serve/serving.h"

namespace octavo::sim {

class NaiveServing {
 public:
  NaiveServing(std::vector<TraceRequest> trace,
               std::int64_t trace_block,
               const ServingConfig& config,
               const StepCost& cost);

  /// Everything that an observer is told, one line each.
  std::vector<std::string> run();

 private:
  enum class State { Ahead, Waiting, Prefill, Decode, Ended };
  struct Request {
    TraceRequest source;
    ServedRequest report;
    State state = State::Ahead;
    bool arrival_known = false;
    std::int64_t arrival_ns = 0;
    std::int64_t think_ns = 0;
    std::int64_t patience_ns = -1;
    std::int64_t gives_up_ns = -1;
    std::int64_t ended_ns = -1;
    bool warm = false;
    bool given_up = false;
    testkit::Tokens tokens;
    int slot = -1;
    std::int64_t order = 0;
    std::int64_t emitted = 0;
    std::int64_t past = 0;
    std::int64_t target = 0;
    std::int64_t served = 0;
    std::int64_t held = 0;
    std::int64_t fed = 0;   // In the step.
    std::int64_t need = 0;  // Blocks for that.
  };
  struct Replica {
    explicit Replica(const BlockManagerConfig& config, Rng stream) : blocks(config), rng(stream) {}
    testkit::NaiveModel blocks;
    Rng rng;
    std::vector<int> waiting, prefills, decodes;  // Requests.
    std::vector<int> free_slots;
    bool stepping = false;
    bool wants_plan = false;
    ServingStep step;
    std::int64_t arrived = 0;
    // While a step is planned.
    std::int64_t budget = 0;
    std::int64_t demand = 0;
    bool preempted = false;
  };
  struct Lookup {
    std::int64_t tokens = 0;
    std::int64_t parked = 0;
  };

  Request& at(int index) { return requests_[static_cast<std::size_t>(index)]; }
  std::int64_t blocks_for(std::int64_t tokens) const;
  std::int64_t positions(const Request& request) const;
  bool fits(const Request& request) const;
  bool more_urgent(int left, int right);
  std::int64_t addressable(const Request& request) const;

  void settle_arrivals();
  void settle(int index);
  void name_tokens(int index);
  Lookup look_up(const Replica& replica, const testkit::Tokens& prompt, std::int64_t limit) const;
  int route(const Request& request);

  void play_warm(int index);
  void arrive(int index);
  void plan(int index);
  void plan_running(Replica& replica, int index);
  void begin_step(Replica& replica, int index);
  bool get(Replica& replica, std::int64_t need, int wanted_by);
  void preempt(Replica& replica);
  void admit(Replica& replica);
  void end_step(int index);
  void end(int index, RequestOutcome outcome);
  void leave(Replica& replica, int index);

  ServingConfig config_;
  const StepCost& cost_;
  std::int64_t trace_block_;
  std::vector<Request> requests_;
  std::vector<Replica> replicas_;
  Rng router_;
  std::size_t turn_ = 0;
  std::int64_t now_ns_ = 0;
  std::map<std::tuple<int, std::uint64_t, std::int64_t>, std::int32_t> token_numbers_;
  std::vector<std::string> lines_;
};

}  // namespace octavo::sim

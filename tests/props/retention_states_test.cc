// EvictionPolicy::Priority under random sessions, retentions and times, beside the naive model: who
// is served what tells who left.
#include <vector>

#include "draw.h"
#include "naive_model.h"
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace octavo::testkit {
namespace {

// Three stems of up to five blocks of two tokens, so that prompts share prefixes and branch.
Tokens draw_prompt() {
  Tokens prompt;
  const int blocks = draw_int(1, 5);
  for (int i = 0; i < blocks; ++i) {
    const int branch = draw_int(0, 2) == 0 ? 1 : 0;
    prompt.insert(prompt.end(), {10 * i + branch, 5});
  }
  prompt.push_back(7);
  return prompt;
}

// A whole session of `slot` on both; what it was served must agree.
void run_session(NaiveModel& model, BlockManager& manager, int slot, const Tokens& prompt) {
  const auto length = static_cast<std::int32_t>(prompt.size());
  const auto past = static_cast<std::int32_t>(model.admit(slot, prompt));
  RC_ASSERT(manager.admit(slot, prompt) == past);
  const std::vector<std::int32_t> step = {0, length - past};
  const std::vector<std::int32_t> pasts = {past};
  const std::vector<std::int32_t> slots = {slot};
  (void)model.prepare_step(step, pasts, slots);
  (void)manager.prepare_step(step, pasts, slots);
  model.retire(slot, prompt);
  manager.retire(slot, prompt);
}

RC_GTEST_PROP(RetentionStates, DoWhatTheNaiveModelDoes, ()) {
  BlockManagerConfig config;
  config.num_blocks = draw_int(6, 14);
  config.block_size = 2;
  config.max_seqs = 2;
  config.policy = EvictionPolicy::Priority;
  NaiveModel model(config);
  BlockManager manager(config);
  std::int64_t now = 0;
  const int operations = draw_int(5, 60);
  for (int i = 0; i < operations; ++i) {
    const int slot = draw_int(0, 1);
    if (draw_int(0, 2) > 0) {
      const int priority = draw_int(0, 3) * 30;
      const std::int64_t ttl = draw_int(0, 1) == 0 ? kNeverExpires : draw_int(1, 200);
      model.set_retention(slot, priority, ttl);
      manager.set_retention(slot, priority, ttl);
    }
    if (draw_int(0, 2) == 0) {
      now += draw_int(0, 1) == 0 ? draw_int(0, 5) : draw_int(0, 150);
      model.advance_clock(now);
      manager.advance_clock(now);
    }
    run_session(model, manager, slot, draw_prompt());
    manager.audit();
    model.check();
  }
}

}  // namespace
}  // namespace octavo::testkit

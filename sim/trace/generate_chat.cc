// Chat: conversations behind a few shared system prompts.
//
// Conversations begin as a Poisson process. Each takes one of the system prompts, the first one
// most often. Every turn sends the whole history: system prompt, all earlier questions and answers,
// the new question. The next turn comes when the answer has been written out and the user has
// thought; one in twenty asks for another answer to the same prompt instead. A conversation ends by
// chance or when its history grows too long.

#include <array>
#include <map>
#include <utility>

#include "generate.h"
#include "octavo/sim/rng.h"
#include "prompt.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kMeanGapNs = 2 * kSecond;  // Between the starts of conversations.
constexpr std::int64_t kMeanThinkNs = 30 * kSecond;
constexpr std::int64_t kOutputTokenNs = 20 * kMillisecond;
constexpr std::int64_t kContextTokensMax = 16384;

// System prompts, most popular first. Their lengths are drawn once a workload.
constexpr std::array<std::uint32_t, 5> kSystemWeights{60, 30, 20, 15, 12};
constexpr std::int64_t kSystemTokensLow = 200;
constexpr std::array<std::uint32_t, 3> kSystemOctaves{1, 2, 1};  // 200 .. 1599

constexpr std::int64_t kQuestionTokensLow = 8;
constexpr std::array<std::uint32_t, 7> kQuestionOctaves{4, 10, 12, 8, 4, 2, 1};  // 8 .. 1023
constexpr std::int64_t kAnswerTokensLow = 16;
constexpr std::array<std::uint32_t, 6> kAnswerOctaves{3, 5, 8, 10, 8, 3};  // 16 .. 1023

class Chat final : public Generator {
 public:
  Chat(std::uint64_t seed, std::int64_t block_size) : rng_(seed), ids_(block_size) {
    for (Prompt& system : systems_) {
      system.append(ids_, rng_.octaves(kSystemTokensLow, kSystemOctaves));
    }
  }

  void next(TraceRequest& request) override {
    if (turns_.empty() || next_start_ns_ <= turns_.begin()->first.first) {
      begin_conversation();
    }
    auto turn = turns_.extract(turns_.begin());
    const std::int64_t now_ns = turn.key().first;
    Conversation& conversation = turn.mapped();

    const bool again = conversation.answer_tokens > 0 && rng_.chance(1, 20);
    if (!again) {
      conversation.history.append(ids_, conversation.answer_tokens);
      conversation.history.append(ids_, rng_.octaves(kQuestionTokensLow, kQuestionOctaves));
    }
    conversation.answer_tokens = rng_.octaves(kAnswerTokensLow, kAnswerOctaves);
    request.arrival_ns = now_ns;
    request.output_tokens = conversation.answer_tokens;
    request.session = conversation.session;
    conversation.history.put(ids_, request);

    const std::int64_t written_ns = now_ns + conversation.answer_tokens * kOutputTokenNs;
    const std::int64_t next_ns = written_ns + rng_.exponential(kMeanThinkNs);
    const bool goes_on = rng_.chance(4, 5);
    if (goes_on && conversation.history.tokens() < kContextTokensMax) {
      turn.key() = {next_ns, next_order_++};
      turns_.insert(std::move(turn));
    }
  }

 private:
  struct Conversation {
    std::uint64_t session = 0;
    Prompt history;                  // As sent last, without the answer to it.
    std::int64_t answer_tokens = 0;  // Of that answer.
  };

  void begin_conversation() {
    Conversation conversation{.session = next_session_++,
                              .history = systems_[rng_.weighted(kSystemWeights)]};
    turns_.emplace(std::pair(next_start_ns_, next_order_++), std::move(conversation));
    next_start_ns_ += rng_.exponential(kMeanGapNs);
  }

  Rng rng_;
  BlockIds ids_;
  std::array<Prompt, kSystemWeights.size()> systems_;
  // The next turn of every conversation that goes on, by time and, at the same time, by the order
  // in which the turns were decided on.
  std::map<std::pair<std::int64_t, std::uint64_t>, Conversation> turns_;
  std::int64_t next_start_ns_ = 0;
  std::uint64_t next_order_ = 0;
  std::uint64_t next_session_ = 0;
};

}  // namespace

std::unique_ptr<Generator> make_chat(std::uint64_t seed, std::int64_t block_size) {
  return std::make_unique<Chat>(seed, block_size);
}

}  // namespace octavo::sim

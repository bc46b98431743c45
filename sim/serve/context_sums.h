// The sums of a StepShape over the sequences of a decode batch, kept up to date as they come, grow
// and go. A step in which all grow by one token costs O(spans), whatever the batch.
//
// Of a sequence with `past` tokens that feeds one more, the token sees length = past + 1 tokens, or
// the last w of them under a span of w. A sum over min(length, w) grows by one for each sequence
// below w; when those reach it is known when they join: a ring counts them by the step.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "octavo/sim/serve/step_cost.h"

namespace octavo::sim {

/// What a sequence of `past` tokens that computes `count` more adds under one span.
struct SpanWork {
  std::int64_t read_tokens = 0;
  std::int64_t attended_pairs = 0;
};
inline SpanWork span_work(std::int64_t past, std::int64_t count, std::int64_t span) noexcept {
  const auto pairs_up_to = [](std::int64_t first, std::int64_t last) {
    return last < first ? 0 : (first + last) * (last - first + 1) / 2;
  };
  if (span == 0) {
    return {past + count, pairs_up_to(past + 1, past + count)};
  }
  // Tokens at positions below the span see all before them, the others `span` tokens.
  const std::int64_t growing_end = std::clamp(span, past, past + count);
  return {std::min(past + count, span + count - 1),
          pairs_up_to(past + 1, growing_end) + span * (past + count - growing_end)};
}

/// Adds to a shape what a sequence adds under each of the spans.
inline void add_sequence(std::span<const std::int64_t> spans,
                         std::int64_t past,
                         std::int64_t count,
                         StepShape& shape) noexcept {
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const SpanWork work = span_work(past, count, spans[i]);
    shape.read_tokens[i] += work.read_tokens;
    shape.attended_pairs[i] += work.attended_pairs;
  }
}

class ContextSums {
 public:
  /// `longest`: no sequence is longer; wider windows are as good as full attention.
  ContextSums(std::span<const std::int64_t> spans, std::int64_t longest) {
    for (const std::int64_t span : spans) {
      Sum& sum = sums_.emplace_back();
      if (span > 0 && span < longest) {
        sum.window = span;
        sum.reaching.resize(static_cast<std::size_t>(span));
      }
    }
  }

  void join(std::int64_t length) noexcept { change(length, 1); }
  void leave(std::int64_t length) noexcept { change(length, -1); }

  /// Every sequence has grown by one token.
  void advance() noexcept {
    ++step_;
    for (Sum& sum : sums_) {
      if (sum.window == 0) {
        sum.tokens += sequences_;
        continue;
      }
      sum.tokens += sum.growing;
      std::int64_t& reached = sum.reaching[ring_index(sum, 0)];
      sum.growing -= reached;
      reached = 0;
    }
  }

  /// sum of min(length, w) under the i-th span: tokens read, and pairs too.
  std::int64_t tokens(std::size_t i) const noexcept { return sums_[i].tokens; }
  std::size_t spans() const noexcept { return sums_.size(); }

 private:
  struct Sum {
    std::int64_t window = 0;             ///< 0: full attention.
    std::int64_t tokens = 0;             ///< The sum.
    std::int64_t growing = 0;            ///< Sequences shorter than the window.
    std::vector<std::int64_t> reaching;  ///< Of those, how many reach it in which step, mod window.
  };

  std::size_t ring_index(const Sum& sum, std::int64_t steps_ahead) const noexcept {
    return static_cast<std::size_t>((step_ + steps_ahead) % sum.window);
  }

  void change(std::int64_t length, std::int64_t count) noexcept {
    sequences_ += count;
    for (Sum& sum : sums_) {
      if (sum.window == 0) {
        sum.tokens += count * length;
        continue;
      }
      sum.tokens += count * std::min(length, sum.window);
      if (length < sum.window) {
        sum.growing += count;
        sum.reaching[ring_index(sum, sum.window - length)] += count;
      }
    }
  }

  std::vector<Sum> sums_;
  std::int64_t sequences_ = 0;
  std::int64_t step_ = 0;
};

}  // namespace octavo::sim

// Call: one call of a BlockManager as a value, so that it can be drawn, printed, stored in a path
// and made on a manager and on the model alike.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "naive_model.h"

namespace octavo::testkit {

enum class Verb {
  SetNamespace,
  Admit,
  Reserve,
  PrepareStep,
  UpdatePosition,
  Retire,
  Evict,
  Abandon,
  ReleaseQuarantined,
  InvalidateNamespace,
  Reset,
};
inline constexpr int kVerbs = 11;

std::string_view to_string(Verb verb);

struct Call {
  Verb verb = Verb::Reset;
  int slot = 0;             ///< Of the calls on one slot.
  std::int64_t number = 0;  ///< A namespace, an addressable length or a position.
  Tokens
      tokens{};  ///< admit: the prompt; retire: the history; steps: what is written, slot by slot.
  std::vector<std::int64_t> boundaries{};

  // reserve and prepare_step.
  std::vector<std::int32_t> slots{};
  std::vector<std::int32_t> counts{};  ///< n_new, or cu_seqlens_q.
  std::vector<std::int32_t> past{};    ///< prepare_step only.
  bool offsets_too_short = false;      ///< reserve only: the output span lacks an element.
  bool writes_late = false;  ///< The device writes the step's rows only before their commit.
};

std::ostream& operator<<(std::ostream& out, const Call& call);

/// What a call did. A refused call has done nothing else.
struct Outcome {
  std::set<ErrorCode> refusals;       ///< Model: every code that applies. Manager: the one thrown.
  std::string message;                ///< Of the error, from a manager.
  std::int64_t value = 0;             ///< admit, release_quarantined.
  std::vector<std::int32_t> numbers;  ///< reserve: the offsets; prepare_step: cu_seqlens_k.
  bool decode = false;                ///< prepare_step.

  bool refused() const { return !refusals.empty(); }
};

Outcome perform(NaiveModel& model, const Call& call);
Outcome perform(BlockManager& manager, const Call& call);

}  // namespace octavo::testkit

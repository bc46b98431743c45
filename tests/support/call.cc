#include "call.h"

#include <array>
#include <ostream>
#include <utility>

namespace octavo::testkit {
namespace {

template <typename Subject>
Outcome make_call(Subject& subject, const Call& call) {
  Outcome outcome;
  switch (call.verb) {
    case Verb::SetNamespace:
      subject.set_namespace(call.slot, static_cast<std::uint64_t>(call.number));
      break;
    case Verb::Admit:
      outcome.value = subject.admit(call.slot, call.tokens, call.number);
      break;
    case Verb::Reserve:
      outcome.numbers.resize(call.slots.size() - (call.offsets_too_short ? 1 : 0));
      subject.reserve(call.slots, call.counts, outcome.numbers);
      break;
    case Verb::PrepareStep: {
      const auto plan = subject.prepare_step(call.counts, call.past, call.slots);
      outcome.numbers.assign(plan.cu_seqlens_k.begin(), plan.cu_seqlens_k.end());
      outcome.decode = plan.decode;
      break;
    }
    case Verb::UpdatePosition:
      subject.update_position(call.slot, call.number);
      break;
    case Verb::Retire:
      subject.retire(call.slot, call.tokens, call.number, call.boundaries);
      break;
    case Verb::Evict:
      subject.evict(call.slot);
      break;
    case Verb::Abandon:
      subject.abandon(call.slot);
      break;
    case Verb::ReleaseQuarantined:
      outcome.value = subject.release_quarantined();
      break;
    case Verb::InvalidateNamespace:
      subject.invalidate_namespace(static_cast<std::uint64_t>(call.number));
      break;
    case Verb::Reset:
      subject.reset();
      break;
  }
  return outcome;
}

template <typename Range>
void print(std::ostream& out, std::string_view label, const Range& range) {
  out << ' ' << label << "={";
  const char* separator = "";
  for (const auto& element : range) {
    out << std::exchange(separator, ",") << element;
  }
  out << '}';
}

}  // namespace

std::string_view to_string(Verb verb) {
  constexpr std::array<std::string_view, kVerbs> kNames = {
      "set_namespace", "admit", "reserve", "prepare_step",        "update_position",
      "retire",        "evict", "abandon", "release_quarantined", "invalidate_namespace",
      "reset"};
  return kNames[static_cast<std::size_t>(verb)];
}

std::ostream& operator<<(std::ostream& out, const Call& call) {
  out << to_string(call.verb);
  switch (call.verb) {
    case Verb::Reserve:
    case Verb::PrepareStep:
      print(out, "slots", call.slots);
      print(out, call.verb == Verb::Reserve ? "n_new" : "cu_seqlens_q", call.counts);
      if (call.verb == Verb::PrepareStep) {
        print(out, "past_len", call.past);
      }
      print(out, "writes", call.tokens);
      out << (call.offsets_too_short ? " offsets too short" : "")
          << (call.writes_late ? " late" : "");
      break;
    case Verb::ReleaseQuarantined:
    case Verb::Reset:
      break;
    case Verb::InvalidateNamespace:
      out << ' ' << call.number;
      break;
    case Verb::Evict:
    case Verb::Abandon:
      out << " slot " << call.slot;
      break;
    case Verb::SetNamespace:
    case Verb::UpdatePosition:
      out << " slot " << call.slot << " to " << call.number;
      break;
    case Verb::Admit:
    case Verb::Retire:
      out << " slot " << call.slot << " addressable " << call.number;
      print(out, "tokens", call.tokens);
      if (call.verb == Verb::Retire) {
        print(out, "boundaries", call.boundaries);
      }
      break;
  }
  return out;
}

Outcome perform(NaiveModel& model, const Call& call) {
  try {
    return make_call(model, call);
  } catch (const Refusal& refusal) {
    Outcome refused;
    refused.refusals = refusal.codes;
    return refused;
  }
}

Outcome perform(BlockManager& manager, const Call& call) {
  try {
    return make_call(manager, call);
  } catch (const Error& error) {
    Outcome refused;
    refused.refusals.insert(error.code());
    refused.message = error.what();
    return refused;
  }
}

}  // namespace octavo::testkit

#include "state_ops.h"

#include <algorithm>
#include <functional>
#include <sstream>

namespace octavo::testkit {
namespace {

constexpr int kNominalSize = 100;  // Of RapidCheck: ranges are not narrowed.
constexpr int kSpacesMax = 9;

using SlotTest = std::function<bool(const ModelSlot&)>;

bool is_live(const ModelSlot& slot) {
  return !slot.fresh;
}
bool is_fresh(const ModelSlot& slot) {
  return slot.fresh;
}

/// Mostly one that passes the test, at times any, at times none at all.
int draw_slot(const World& world, const SlotTest& test) {
  const auto& slots = world.model().slots();
  const int count = static_cast<int>(slots.size());
  std::vector<int> fitting;
  for (int s = 0; s < count; ++s) {
    if (test(slots[static_cast<std::size_t>(s)])) {
      fitting.push_back(s);
    }
  }
  const int luck = draw(0, 49);
  if (luck == 49) {
    return draw(0, 1) == 0 ? -1 : count;
  }
  if (luck >= 45 || fitting.empty()) {
    return draw(0, count - 1);
  }
  return fitting[static_cast<std::size_t>(draw(0, static_cast<int>(fitting.size()) - 1))];
}

/// 0 to `kinds` - 1 in one of ten draws: the way in which the call is made wrong. Else -1.
int draw_fault(int kinds) {
  const int luck = draw(-1, 10 * kinds);
  return luck < kinds ? luck : -1;
}

const ModelSlot* slot_at(const World& world, int slot) {
  const auto& slots = world.model().slots();
  return slot < 0 || slot >= std::ssize(slots) ? nullptr : &slots[static_cast<std::size_t>(slot)];
}

/// Runs the call on every manager, compares them with the model and with each other.
class Op : public StateCommand {
 public:
  virtual Call resolve(const World& world) const = 0;

  void apply(World& world) const final { world.perform(resolve(world)); }

  void run(const World& before, Subject& subject) const final {
    const Call call = resolve(before);
    World after = before;
    const Outcome expected = after.perform(call);
    std::ostringstream text;
    text << call;
    subject.log.push_back(text.str());
    try {
      after.model().check();
      for (const auto& manager : subject.managers) {
        manager->step(before, after, call, expected);
      }
      for (const auto& manager : subject.managers) {
        if (manager->digest() != subject.managers[0]->digest()) {
          throw Mismatch("the digest depends on the hash");
        }
      }
    } catch (const std::exception& error) {
      std::string calls;
      for (const std::string& line : subject.log) {
        calls += "\n  " + line;
      }
      RC_FAIL(std::string(error.what()) + "\nafter:" + calls);
    }
    note(*subject.coverage, before, after, call, expected);
  }

  void show(std::ostream& out) const final { out << "(see the calls)"; }

 private:
  static void note(Coverage& coverage,
                   const World& before,
                   const World& after,
                   const Call& call,
                   const Outcome& outcome) {
    const auto verb = static_cast<std::size_t>(call.verb);
    (outcome.refused() ? coverage.refused : coverage.done)[verb] += 1;
    coverage.exhausted += outcome.refusals.contains(ErrorCode::ResourceExhausted) ? 1 : 0;
    for (std::size_t i = 0; i < kBranches; ++i) {
      coverage.branches[i] += after.model().branches()[i] - before.model().branches()[i];
    }
  }
};

class AdmitOp final : public Op {
 public:
  explicit AdmitOp(const World& world)
      : slot_(draw_slot(world, is_fresh)),
        like_(draw(0, static_cast<int>(World::kLibraryMax) - 1)),
        cut_(draw(0, 12)),
        jitter_(draw(0, 3)),
        addressable_(draw(-1, 9)),
        fault_(draw_fault(3)) {
    for (int count = draw(0, 5); count > 0; --count) {
      suffix_.push_back(draw(1, world.alphabet()));
    }
  }

  Call resolve(const World& world) const override {
    const auto& library = world.library();
    Tokens prompt = library[library.size() - 1 - static_cast<std::size_t>(like_) % library.size()];
    if (cut_ > 0) {  // 0: the whole of it.
      const int length = (cut_ - 1) * world.unit() + (world.unit() > 1 ? jitter_ : 0);
      prompt.resize(std::min(prompt.size(), static_cast<std::size_t>(length)));
    }
    for (const Token token : suffix_) {
      prompt.insert(prompt.end(), static_cast<std::size_t>(world.unit()), token);
    }
    if (prompt.empty()) {
      prompt.push_back(1);
    }
    // Mostly everything is addressable.
    Call call{.verb = Verb::Admit,
              .slot = slot_,
              .number = addressable_ <= 5 ? kAddressableAll : (addressable_ - 6) * 2 * world.unit(),
              .tokens = std::move(prompt)};
    if (fault_ == 0) {
      call.tokens.clear();
    } else if (fault_ == 1) {
      call.number = -2;
    } else if (fault_ == 2) {
      call.tokens.resize(static_cast<std::size_t>(world.model().row_tokens()) + 1, 1);
    }
    return call;
  }

 private:
  int slot_, like_, cut_, jitter_, addressable_, fault_;
  Tokens suffix_;
};

/// One slot's part of a step.
struct StepEntry {
  int slot = 0;
  int back = 0;   ///< How far it is rewound before, prepare_step only.
  int count = 0;  ///< Tokens; 0: what is left of the prompt.
  int seed = 0;   ///< Of the tokens that no prompt prescribes.
};

/// prepare_step and reserve.
class StepOp final : public Op {
 public:
  StepOp(const World& world, Verb verb)
      : verb_(verb), late_(draw(0, 2) == 2), fault_(draw_fault(10)) {
    const auto& slots = world.model().slots();
    const bool decode = draw(0, 3) == 3;
    for (int s = 0; s < std::ssize(slots); ++s) {
      const bool live = is_live(slots[static_cast<std::size_t>(s)]);
      if (live ? draw(0, 2) > 0 : draw(0, 9) == 9) {
        const int back = draw(0, 9);  // In three of ten: deep rewinds as likely as shallow ones.
        entries_.push_back({.slot = s,
                            .back = back <= 6 ? 0 : (back == 7 ? 1 : draw(1, 8)),
                            .count = decode ? 1 : draw(0, 6),
                            .seed = draw(0, 99)});
      }
    }
    if (draw(0, 1) == 1) {
      std::reverse(entries_.begin(), entries_.end());
    }
  }

  Call resolve(const World& world) const override {
    Call call{.verb = verb_};
    call.writes_late = late_;
    if (verb_ == Verb::PrepareStep) {
      call.counts.push_back(0);
    }
    for (const StepEntry& entry : entries_) {
      add(call, *slot_at(world, entry.slot), entry, world);
    }
    spoil(call, world);
    return call;
  }

 private:
  void add(Call& call, const ModelSlot& slot, const StepEntry& entry, const World& world) const {
    const bool steps = verb_ == Verb::PrepareStep;
    const std::int64_t past =
        steps ? std::max<std::int64_t>(0, slot.reserved - entry.back * world.unit())
              : slot.reserved;
    // A rewind into the prompt ends what it prescribes.
    const std::int64_t prescribed =
        past < slot.reserved ? std::min(past, std::ssize(slot.prompt)) : std::ssize(slot.prompt);
    std::int64_t count = entry.count == 1 ? 1 : entry.count * world.unit();
    if (count == 0 && (steps || prescribed > past)) {
      count = std::max<std::int64_t>(1, prescribed - past);
    }
    call.slots.push_back(entry.slot);
    call.counts.push_back(static_cast<std::int32_t>(steps ? call.counts.back() + count : count));
    call.past.push_back(static_cast<std::int32_t>(past));
    for (std::int64_t p = past; p < past + count; ++p) {
      call.tokens.push_back(p < prescribed
                                ? slot.prompt[static_cast<std::size_t>(p)]
                                : 1 + static_cast<Token>((entry.seed + p * p) % world.alphabet()));
    }
  }

  void spoil(Call& call, const World& world) const {
    if (fault_ < 0 || call.slots.empty()) {
      return;
    }
    const int past = static_cast<int>(slot_at(world, call.slots[0])->reserved);
    const bool steps = verb_ == Verb::PrepareStep;
    switch (fault_) {
      case 0:  // The first slot once more.
        call.slots.push_back(call.slots[0]);
        call.counts.push_back(steps ? call.counts.back() + 1 : 1);
        call.past.push_back(call.past[0]);
        break;
      case 1:
        call.slots.back() = static_cast<int>(world.model().slots().size());
        break;
      case 2:
        call.slots[0] = -1;
        break;
      case 3:
        call.counts.back() = steps ? call.counts[call.counts.size() - 2] : -1;
        break;
      case 4:
        call.past[0] = past + 1;
        break;
      case 5:
        call.past[0] = -1;
        break;
      case 6:
        call.past.pop_back();
        call.offsets_too_short = !steps;
        break;
      case 7:
        call.counts.front() = steps ? 1 : -100;
        break;
      case 8:
        call.counts.back() += 1000000;
        break;
      default:
        call.counts.pop_back();
        break;
    }
  }

  Verb verb_;
  bool late_;
  int fault_;
  std::vector<StepEntry> entries_;
};

class UpdatePositionOp final : public Op {
 public:
  explicit UpdatePositionOp(const World& world)
      : slot_(draw_slot(world, is_live)), back_(draw(0, 12)), fault_(draw_fault(2)) {}

  Call resolve(const World& world) const override {
    const ModelSlot* slot = slot_at(world, slot_);
    const std::int64_t reserved = slot == nullptr ? 0 : slot->reserved;
    const std::int64_t back =
        std::max(0, back_ - 4) * world.unit();  // In five of thirteen: no rewind.
    Call call{.verb = Verb::UpdatePosition,
              .slot = slot_,
              .number = std::max<std::int64_t>(0, reserved - back)};
    if (fault_ >= 0) {
      call.number = fault_ == 0 ? -1 : reserved + 1;
    }
    return call;
  }

 private:
  int slot_, back_, fault_;
};

class RetireOp final : public Op {
 public:
  explicit RetireOp(const World& world)
      : slot_(draw_slot(world, is_live)),
        less_(draw(0, 5)),
        dense_(draw(0, 7) == 7),
        addressable_(draw(0, 15)),
        fault_(draw_fault(5)) {
    for (int count = std::max(0, draw(0, 9) - 2); count > 0; --count) {
      boundaries_.push_back(draw(0, 40));
    }
  }

  Call resolve(const World& world) const override {
    Call call{.verb = Verb::Retire, .slot = slot_, .number = kAddressableAll};
    const ModelSlot* slot = slot_at(world, slot_);
    if (slot == nullptr) {
      return call;
    }
    call.tokens = world.sessions()[static_cast<std::size_t>(slot_)].tokens;
    const std::int64_t length = std::max<std::int64_t>(
        slot->committed, slot->reserved - std::max(0, less_ - 2) * world.unit());
    call.tokens.resize(static_cast<std::size_t>(length));
    for (const int boundary : boundaries_) {
      call.boundaries.push_back(boundary * world.unit() % (length + 2));
    }
    if (dense_) {
      for (std::int64_t boundary = 0; boundary <= std::min(length, kDenseMax); ++boundary) {
        call.boundaries.push_back(boundary);
      }
    }
    if (slot->addressable < slot->prompt_length) {
      call.number = slot->addressable;
    } else if (addressable_ > 10) {
      call.number = slot->prompt_length + addressable_ - 11;
    }
    spoil(call, *slot);
    return call;
  }

 private:
  void spoil(Call& call, const ModelSlot& slot) const {
    switch (fault_) {
      case 0:
        call.tokens.resize(static_cast<std::size_t>(slot.reserved) + 1, 1);
        break;
      case 1:
        if (slot.committed > 0) {
          call.tokens.resize(static_cast<std::size_t>(slot.committed) - 1);
        }
        break;
      case 2:
        if (!slot.prompt.empty() && call.tokens.size() >= slot.prompt.size()) {
          call.tokens[slot.prompt.size() - 1] += 7;
        }
        break;
      case 3:
        call.boundaries.push_back(-1);
        break;
      case 4:
        // Never more than the session shares: behind that its rows are its own.
        call.number =
            slot.prompt_length > 0 ? (slot.addressable > 0 ? slot.addressable - 1 : -2) : -2;
        break;
      default:
        break;
    }
  }

  static constexpr std::int64_t kDenseMax = 60;

  int slot_, less_;
  bool dense_;  ///< All boundaries there are.
  int addressable_, fault_;
  std::vector<int> boundaries_;
};

/// The calls that have nothing but a slot or a namespace.
class SmallOp final : public Op {
 public:
  SmallOp(const World& world, Verb verb)
      : verb_(verb),
        slot_(draw_slot(world, verb == Verb::SetNamespace ? is_fresh : is_live)),
        space_(draw(0, 9) < 8 ? draw(0, 2) : draw(3, kSpacesMax)) {}

  Call resolve(const World& /*world*/) const override {
    return {.verb = verb_, .slot = slot_, .number = space_};
  }

 private:
  Verb verb_;
  int slot_, space_;
};

using Maker = StateCommandPtr (*)(const World&);

template <typename Command, Verb... verb>
StateCommandPtr make(const World& world) {
  return std::make_shared<const Command>(world, verb...);
}

/// What a command needs to do anything but be refused.
enum class Needs { Nothing, FreshSlot, LiveSlot };

struct Kind {
  int weight;
  Needs needs;
  Maker maker;
};

constexpr std::array kKinds = {
    Kind{24, Needs::Nothing, make<StepOp, Verb::PrepareStep>},
    Kind{24, Needs::FreshSlot, make<AdmitOp>},
    Kind{12, Needs::LiveSlot, make<RetireOp>},
    Kind{4, Needs::Nothing, make<StepOp, Verb::Reserve>},
    Kind{6, Needs::LiveSlot, make<UpdatePositionOp>},
    Kind{3, Needs::LiveSlot, make<SmallOp, Verb::Evict>},
    Kind{2, Needs::LiveSlot, make<SmallOp, Verb::Abandon>},
    Kind{2, Needs::Nothing, make<SmallOp, Verb::ReleaseQuarantined>},
    Kind{2, Needs::FreshSlot, make<SmallOp, Verb::SetNamespace>},
    Kind{2, Needs::Nothing, make<SmallOp, Verb::InvalidateNamespace>},
    Kind{1, Needs::Nothing, make<SmallOp, Verb::Reset>},
};
constexpr std::size_t kSetNamespace = 8;  // Where in kKinds.
constexpr std::size_t kInvalidateNamespace = 9;
constexpr int kWeightScale = 12;  // A command whose needs are not met is drawn this much less.

bool any_slot(const World& world, bool fresh) {
  const auto& slots = world.model().slots();
  return std::any_of(slots.begin(), slots.end(),
                     [&](const ModelSlot& slot) { return slot.fresh == fresh; });
}

}  // namespace

int draw(int low, int high) {
  return *rc::gen::resize(kNominalSize, rc::gen::inRange(low, high + 1));
}

Weights draw_weights(int namespaces) {
  Weights weights;
  for (const Kind& kind : kKinds) {
    // Steps and admits never vanish: without them nothing can happen. Resets are rare in most
    // cases, or no state would ever grow old.
    std::vector<int> factors{0, kWeightScale, kWeightScale, 3 * kWeightScale};
    if (weights.size() < 2) {
      factors = {kWeightScale, 2 * kWeightScale};
    } else if (weights.size() + 1 == kKinds.size()) {
      factors = {0, 0, 1, kWeightScale};
    }
    weights.push_back(kind.weight * *rc::gen::elementOf(factors));
  }
  weights[kSetNamespace] *= namespaces;
  weights[kInvalidateNamespace] *= namespaces;
  return weights;
}

rc::Gen<StateCommandPtr> command_for(const World& world, const Weights& weights) {
  const auto seen = std::make_shared<const World>(world);
  const bool any_fresh = any_slot(world, true);
  const bool any_live = any_slot(world, false);
  const bool scarce = world.model().unused_blocks() + std::ssize(world.model().parked()) < 2;
  Weights now = weights;
  int total = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Needs needs = kKinds[i].needs;
    if ((needs == Needs::FreshSlot && !any_fresh) || (needs == Needs::LiveSlot && !any_live)) {
      now[i] /= kWeightScale;
    }
    if (needs == Needs::LiveSlot && scarce) {
      now[i] *= 4;  // Sessions have to end, or nothing but exhaustion is seen.
    }
    total += now[i];
  }
  return rc::gen::exec([seen, now, total]() -> StateCommandPtr {
    int luck = *rc::gen::noShrink(rc::gen::resize(kNominalSize, rc::gen::inRange(0, total)));
    std::size_t kind = 0;
    while (luck >= now[kind]) {
      luck -= now[kind++];
    }
    return kKinds[kind].maker(*seen);
  });
}

}  // namespace octavo::testkit

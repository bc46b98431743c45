// RapidCheck state machine over the whole KVCache: random sequences of all verbs, wrong calls
// included, on small caches of every row mix, whose K/V are functions of the token history. After
// every verb audit() is called; every token's outputs are compared, in bits, with its history
// computed afresh; whatever the cache may not read any more is ruined all the time
// (support/story_server.h).
//
// By default the same cases run every time. OCTAVO_CAMPAIGN=20 runs twenty times as many with a new
// seed, and RC_PARAMS are RapidCheck's own parameters, as in tests/props.
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "octavo/ref_cpu/cpu_device.h"
#include <rapidcheck.h>

#include "tests/cache/support/probe_device.h"
#include "tests/cache/support/story_server.h"

namespace octavo::testing {
namespace {

enum class Verb {
  Admit,
  Run,
  RunPrompt,
  PrepareOnly,
  Reserve,
  Rewind,
  Retire,
  Evict,
  Abandon,
  Namespace,
  Invalidate,
  Fill,
  Health,
  Reset,
  Look,
  Fault,
  Wrong,
};
constexpr int kVerbs = 17;
constexpr int kLongestSequence = 90;
constexpr int kCases = 250;  // For every stack; enough for everything to be reached.
constexpr const char* kNames[kVerbs] = {"admit",
                                        "run",
                                        "run prompt",
                                        "prepare only",
                                        "reserve",
                                        "rewind",
                                        "retire",
                                        "evict",
                                        "abandon",
                                        "namespace",
                                        "invalidate",
                                        "fill",
                                        "release quarantined",
                                        "reset",
                                        "look",
                                        "fault",
                                        "wrong"};
// Mostly what fills a cache.
constexpr int kWeights[kVerbs] = {10, 12, 10, 3, 2, 4, 8, 3, 3, 2, 1, 3, 1, 1, 1, 1, 2};

/// A verb and the numbers that its arguments are made of when it is applied; so a sequence from
/// which others were removed still makes sense.
struct Op {
  Verb verb = Verb::Run;
  int slot = 0;
  int a = 0;
  int b = 0;
  int c = 0;
};

std::ostream& operator<<(std::ostream& out, const Op& op) {
  return out << kNames[static_cast<int>(op.verb)] << "(slot " << op.slot << ", " << op.a << ", "
             << op.b << ", " << op.c << ")";
}

/// What a run of the property reached.
struct Reached {
  std::int64_t done[kVerbs] = {};
  std::int64_t refused = 0;
  std::int64_t exhausted = 0;
  std::int64_t too_deep = 0;  ///< Rewinds that a window refused.
  std::int64_t faults = 0;    ///< Errors of the device.
  std::int64_t failed = 0;    ///< Slots that were left failed by them.
  std::int64_t hits = 0;
  std::int64_t partial_hits = 0;
  std::int64_t copies = 0;
  std::int64_t compared = 0;
};

void print(const Reached& reached) {
  for (int verb = 0; verb < kVerbs; ++verb) {
    std::cout << kNames[verb] << ' ' << reached.done[verb] << ", ";
  }
  std::cout << "refused " << reached.refused << ", exhausted " << reached.exhausted << ", too deep "
            << reached.too_deep << ", device errors " << reached.faults << ", slots failed "
            << reached.failed << ", hits " << reached.hits << ", partial hits "
            << reached.partial_hits << ", copies " << reached.copies << ", tokens compared "
            << reached.compared << '\n';
}

class Machine {
 public:
  Machine(const Stack& stack, Reached& reached)
      : device_(std::make_shared<ProbeDevice>(make_cpu_device(1))),
        server_(stack, device_),
        reached_(reached),
        has_states_(stack.has_kind(KVLayerKind::State)) {}

  void apply(const Op& op) {
    const std::uint64_t before = server_.cache().digest();
    try {
      dispatch(op);
      ++reached_.done[static_cast<int>(op.verb)];
    } catch (const Error& error) {
      const bool exhausted = error.code() == ErrorCode::ResourceExhausted;
      const bool too_deep = error.code() == ErrorCode::FailedPrecondition &&
                            std::string_view(error.what()).find("window") != std::string_view::npos;
      if (error.code() == ErrorCode::DeviceError) {
        recover(op, before);
      } else if (!exhausted && !too_deep) {
        throw;
      } else {
        RC_ASSERT(server_.cache().digest() == before);
      }
      reached_.exhausted += exhausted ? 1 : 0;
      reached_.too_deep += too_deep ? 1 : 0;
      server_.cache().audit();
    }
  }

  void finish() {
    const BlockManagerStats stats = server_.cache().stats();
    reached_.partial_hits += stats.partial_hits;
    reached_.copies += stats.copied_blocks;
    reached_.compared += server_.compared();
    device_->heal();
    server_.look();
    server_.reset();
    server_.look();
    RC_ASSERT(server_.cache().paged_free_blocks() == server_.cache().paged_num_blocks());
  }

 private:
  using Session = StoryServer::Session;

  // After an error of the device: failed slots are abandoned, all others go on. Kernels that failed
  // have spoilt states and what fill was about to write; K/V are written again by the next step.
  void recover(const Op& op, std::uint64_t before) {
    device_->heal();
    ++reached_.faults;
    const bool computes = op.verb == Verb::Run || op.verb == Verb::RunPrompt;
    std::vector<int> lost;
    for (int slot = 0; slot < server_.slots(); ++slot) {
      const bool is_failed = server_.is_failed(slot);
      const bool is_spoilt =
          (computes && has_states_) || (op.verb == Verb::Fill && slot == op.slot % server_.slots());
      reached_.failed += is_failed ? 1 : 0;
      if (is_failed || is_spoilt) {
        lost.push_back(slot);
      }
    }
    RC_ASSERT(computes || !lost.empty() || server_.cache().digest() == before);
    server_.abandon(lost);
    server_.look();
  }

  void dispatch(const Op& op) {
    const int slot = op.slot % server_.slots();
    const Session& session = server_.session(slot);
    const auto length = std::ssize(session.tokens);
    const bool has_blocks = server_.cache().paged_num_blocks() > 0;
    switch (op.verb) {
      case Verb::Admit:
        admit(slot, op);
        break;
      case Verb::Run:
        server_.run(batch(op));
        break;
      case Verb::RunPrompt:
        run_prompt(slot, op);
        break;
      case Verb::PrepareOnly:
        server_.prepare_only(batch(op));
        break;
      case Verb::Reserve:
        if (has_blocks && server_.cache().reserved_len(slot) == length &&
            length >= std::ssize(session.prompt)) {
          server_.reserve(slot, std::min(1 + op.a % 3, 24 - static_cast<int>(length)));
        }
        break;
      case Verb::Rewind:
        rewind(slot, op);
        break;
      case Verb::Retire:
        retire(slot, op);
        break;
      case Verb::Evict:
        server_.evict(slot);
        break;
      case Verb::Abandon:
        server_.abandon(slot);
        break;
      case Verb::Namespace:
        if (!session.is_active) {
          server_.set_namespace(slot, name(op.a));
        }
        break;
      case Verb::Fill:
        fill(slot, op);
        break;
      case Verb::Wrong:
        wrong(slot, op);
        break;
      default:
        dispatch_rare(op);
    }
  }

  void dispatch_rare(const Op& op) {
    if (op.verb == Verb::Health) {
      server_.release_quarantined();
    } else if (op.verb == Verb::Look) {
      server_.look();
    } else if (op.verb == Verb::Fault) {
      device_->fail_once_after(op.a % 24);
    } else if (op.verb == Verb::Invalidate && op.c % 8 == 0) {
      server_.invalidate_namespace(name(op.a));
    } else if (op.verb == Verb::Reset && op.a % 8 == 0) {
      server_.reset();
    }
  }

  void rewind(int slot, const Op& op) {
    const auto length = std::ssize(server_.session(slot).tokens);
    if (has_states_) {  // They hold the latest token only.
      server_.rewind(slot, op.b % 2 == 0 ? length : 0);
    } else {
      server_.rewind(slot, length - std::min<std::int64_t>(op.a % 7, length));
    }
  }

  static std::uint64_t name(int number) { return static_cast<std::uint64_t>(number % 2); }

  // The head of a history that was seen before, and a few tokens of a short alphabet.
  void admit(int slot, const Op& op) {
    if (server_.session(slot).is_active) {
      return;
    }
    Ids prompt;
    if (!histories_.empty()) {
      const Ids& known = histories_[static_cast<std::size_t>(op.a) % histories_.size()];
      prompt.assign(known.begin(), known.begin() + op.b % (std::ssize(known) + 1));
    }
    for (int i = 0; i <= op.c % 4; ++i) {
      prompt.push_back((op.a + op.b * i) % 3);
    }
    prompt.resize(std::min<std::size_t>(prompt.size(), 22));
    const std::int64_t addressable = op.c % 5 == 4 ? (op.a + op.b) % 20 : KVCache::kAddressableAll;
    const std::int64_t served = server_.admit(slot, prompt, addressable);
    reached_.hits += served > 0 ? 1 : 0;
  }

  // As many tokens as fit, for the slot and perhaps others.
  std::vector<std::pair<int, Ids>> batch(const Op& op) const {
    std::vector<std::pair<int, Ids>> batch;
    const std::int64_t limit = server_.stack().config.max_step_tokens;
    for (int i = 0; i <= op.c % 3; ++i) {
      const int slot = (op.slot + i) % server_.slots();
      const Session& session = server_.session(slot);
      std::int64_t count = 1 + (op.a + i) % 5;
      count = std::min(count, 24 - std::ssize(session.tokens));
      if (session.is_admitted && session.tokens.size() < session.prompt.size()) {
        continue;  // Its prompt comes first.
      }
      if (limit > 0) {
        count = std::min(count, limit);
      }
      if (count > 0) {
        Ids tokens;
        for (std::int64_t k = 0; k < count; ++k) {
          tokens.push_back(static_cast<std::int32_t>((op.b + k * op.a) % 3));
        }
        batch.emplace_back(slot, tokens);
      }
    }
    return batch;
  }

  void run_prompt(int slot, const Op& op) {
    const Session& session = server_.session(slot);
    const std::int64_t left = std::ssize(session.prompt) - std::ssize(session.tokens);
    if (left <= 0) {
      return;
    }
    std::int64_t count = op.a % 3 == 0 ? left : std::min<std::int64_t>(left, 1 + op.b % 6);
    if (server_.stack().config.max_step_tokens > 0) {
      count = std::min(count, server_.stack().config.max_step_tokens);
    }
    const auto from = session.prompt.begin() + std::ssize(session.tokens);
    server_.run({{slot, Ids(from, from + count)}});
  }

  void retire(int slot, const Op& op) {
    const Session& session = server_.session(slot);
    if (!session.is_active) {
      return;
    }
    // Tokens that no step has written are no history.
    const std::int64_t last = std::ssize(session.tokens);
    const std::int64_t length = last - op.a % (last - session.committed + 1);
    std::vector<std::int64_t> boundaries(static_cast<std::size_t>(op.c % 4));
    for (std::size_t i = 0; i < boundaries.size(); ++i) {
      boundaries[i] = (op.b + static_cast<int>(i) * 3) % 24;
    }
    const Ids history(session.tokens.begin(), session.tokens.begin() + length);
    server_.retire(slot, length, boundaries);
    histories_.push_back(history);
    if (histories_.size() > 8) {
      histories_.erase(histories_.begin());
    }
  }

  void fill(int slot, const Op& op) {
    const int encoder = op.a % 10;  // Two of each length.
    const Session& session = server_.session(slot);
    if (session.encoder == StoryServer::kNoEncoder ||
        encoder_length(session.encoder, 0) == encoder_length(encoder, 0)) {
      server_.fill(slot, encoder);
    }
  }

  // Calls that are wrong in every state.
  void wrong(int slot, const Op& op) {
    KVCache& cache = server_.cache();
    const std::uint64_t before = cache.digest();
    const std::int64_t reserved = cache.reserved_len(slot);
    try {
      switch (op.a % 8) {
        case 0:
          cache.update_position(slot, reserved + 1 + op.b);
          break;
        case 1:
          cache.prepare_step(Ids{0, 1}, Ids{static_cast<std::int32_t>(reserved) + 1}, Ids{slot});
          break;
        case 2:
          cache.prepare_step(Ids{0, 1, 2}, Ids{0, 0}, Ids{slot, slot});
          break;
        case 3:
          cache.retire(slot, ids(story(9, reserved + 1)));
          break;
        case 4:
          cache.admit(slot, ids(Ids(static_cast<std::size_t>(25 + op.b), 1)));
          break;
        case 5:
          cache.evict_batch(server_.slots() + op.b);
          break;
        case 6:
          cache.fill(op.b - 3, slot, ids({1}), ids({1}));
          break;
        default:
          cache.reserve(ids({slot}), Ids{-1 - op.b});
      }
    } catch (const Error&) {
      ++reached_.refused;
      RC_ASSERT(cache.digest() == before);
      cache.audit();
      return;
    }
    RC_FAIL("a wrong call was accepted");
  }

  std::shared_ptr<ProbeDevice> device_;
  StoryServer server_;
  Reached& reached_;
  bool has_states_;
  std::vector<Ids> histories_;
};

Op draw_op() {
  int total = 0;
  for (const int weight : kWeights) {
    total += weight;
  }
  int ticket = *rc::gen::resize(100, rc::gen::inRange(0, total));
  int verb = 0;
  while (ticket >= kWeights[verb]) {
    ticket -= kWeights[verb++];
  }
  const auto number = [] { return *rc::gen::resize(100, rc::gen::inRange(0, 48)); };
  return {static_cast<Verb>(verb), number(), number(), number(), number()};
}

// NOLINTBEGIN(concurrency-mt-unsafe): nothing else runs.
bool is_campaign() {
  return std::getenv("OCTAVO_CAMPAIGN") != nullptr;
}

rc::detail::TestParams params_of(int stack) {
  const char* given = std::getenv("RC_PARAMS");
  const char* campaign = std::getenv("OCTAVO_CAMPAIGN");
  std::string rc_params = given == nullptr ? "" : given;
  if (campaign == nullptr && rc_params.find("seed") == std::string::npos) {
    rc_params += " seed=20260101";
    ::setenv("RC_PARAMS", rc_params.c_str(), 1);
  }
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  if (rc_params.find("max_success") == std::string::npos) {
    params.maxSuccess = kCases;
  }
  if (campaign != nullptr) {
    params.maxSuccess *= std::max(1, std::atoi(campaign));
  }
  params.seed += static_cast<std::uint64_t>(stack);  // Other sequences for every stack.
  return params;
}
// NOLINTEND(concurrency-mt-unsafe)

class CacheState : public ::testing::TestWithParam<int> {};

TEST_P(CacheState, EveryTokenSeesItsHistory) {
  const Stack stack = all_stacks()[static_cast<std::size_t>(GetParam())];
  Reached reached;
  const auto property = [&] {
    const auto ops = *rc::gen::resize(
        kLongestSequence,
        rc::gen::container<std::vector<Op>>(rc::gen::exec([] { return draw_op(); })));
    Machine machine(stack, reached);
    for (const Op& op : ops) {
      machine.apply(op);
    }
    machine.finish();
  };
  rc::detail::TestMetadata metadata;
  metadata.id = std::string("CacheState/") + stack.name;
  const rc::detail::TestParams params = params_of(GetParam());
  const auto result = rc::detail::checkTestable(property, metadata, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  ASSERT_TRUE(result.is<rc::detail::SuccessResult>()) << text.str();

  if (is_campaign()) {
    print(reached);
  }
  if (params.maxSuccess < kCases) {
    return;
  }
  for (int verb = 0; verb < kVerbs; ++verb) {
    EXPECT_GT(reached.done[verb], 0) << kNames[verb] << " was never done";
  }
  EXPECT_GT(reached.refused, 0);
  EXPECT_GT(reached.compared, 100);
  EXPECT_GT(reached.faults, 0);
  const bool shares = stack.config.paged.has_value() && stack.config.paged->window == 0 &&
                      !stack.has_kind(KVLayerKind::State) && !stack.has_rings();
  EXPECT_EQ(reached.hits > 0, shares);
  EXPECT_EQ(reached.copies > 0, shares);
  EXPECT_EQ(reached.partial_hits > 0, shares);
  if (stack.has_rings() && !stack.has_kind(KVLayerKind::State)) {
    EXPECT_GT(reached.too_deep, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Stacks,
                         CacheState,
                         ::testing::Range(0, static_cast<int>(all_stacks().size())),
                         [](const auto& index) {
                           std::string name =
                               all_stacks()[static_cast<std::size_t>(index.param)].name;
                           for (char& c : name) {
                             c = c == ' ' || c == ',' || c == '-' ? '_' : c;
                           }
                           return name;
                         });

}  // namespace
}  // namespace octavo::testing

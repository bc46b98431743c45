// Sessions: prompts of one shape or of several, whose sessions begin as an arrival process says.
//
// Every session has a generator of its own, and arrivals have another: another rate moves the
// sessions in time and leaves what they say, another profile leaves the times at which they begin.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "arrivals.h"
#include "generate.h"
#include "octavo/sim/rng.h"
#include "prompt.h"
#include "zipf.h"

namespace octavo::sim {
namespace {

// A profile, and what its sessions share.
struct Shared {
  SessionProfile profile;
  std::vector<Prompt> systems;  // Most popular first; one empty prompt when there are none.
  Zipf system_ranks;
  Zipf image_ranks;
  std::uint64_t first_image = 0;  // Names of images count from here.
};

class Sessions final : public Generator {
 public:
  Sessions(std::uint64_t seed, std::int64_t block_size, const SessionOptions& options)
      : Sessions(Rng(seed), block_size, options) {}

  void next(TraceRequest& request) override {
    if (turns_.empty() || next_start_ns_ <= turns_.begin()->first.first) {
      begin_session();
    }
    auto turn = turns_.extract(turns_.begin());
    const std::int64_t now_ns = turn.key().first;
    Session& session = turn.mapped();
    const SessionProfile& profile = shared_[session.profile].profile;

    session.history.append(ids_, session.answer_tokens);
    session.history.append(
        ids_, std::max<std::int64_t>(1, length(session.rng, profile.input_tokens, profile)));
    session.answer_tokens = length(session.rng, profile.output_tokens, profile);
    request.arrival_ns = now_ns;
    request.output_tokens = session.answer_tokens;
    request.session.reset();
    if (profile.turns_percent > 100) {
      request.session = session.number;
    }
    request.delay_ns = session.delay_ns;
    session.history.put(ids_, request);

    const std::int64_t think_ns = session.rng.exponential(profile.think_ns);
    const auto turns = static_cast<std::uint64_t>(profile.turns_percent);
    if (session.rng.chance(turns - 100, turns) &&
        session.history.tokens() + session.answer_tokens < options_.context_tokens) {
      if (options_.closed_loop) {
        session.delay_ns = think_ns;
      }
      turn.key() = {now_ns + session.answer_tokens * options_.output_token_ns + think_ns,
                    next_order_++};
      turns_.insert(std::move(turn));
    }
  }

 private:
  struct Session {
    std::uint64_t number = 0;
    std::size_t profile = 0;
    Rng rng;
    Prompt history;                          // As sent last, without the answer to it.
    std::int64_t answer_tokens = 0;          // Of that answer.
    std::optional<std::int64_t> delay_ns{};  // Of the next turn.
  };

  Sessions(Rng rng, std::int64_t block_size, const SessionOptions& options)
      : options_(options),
        arrivals_(options.arrivals, rng.fork()),
        rng_(rng.fork()),
        ids_(block_size) {
    std::uint64_t images = 1;
    for (std::size_t i = 0; i < options.profiles.size(); ++i) {
      const SessionProfile& profile = options.profiles[i];
      const bool used = options.shares[i] > 0;
      const auto at_least_one = [used](std::int64_t count) {
        return used ? std::max<std::int64_t>(count, 1) : 1;
      };
      Shared shared{
          .profile = profile,
          .systems = std::vector<Prompt>(static_cast<std::size_t>(at_least_one(profile.systems))),
          .system_ranks = Zipf(at_least_one(profile.systems), options.zipf_permille),
          .image_ranks = Zipf(at_least_one(profile.image_pool), options.zipf_permille),
          .first_image = images};
      images += static_cast<std::uint64_t>(at_least_one(profile.image_pool));
      if (used && profile.systems > 0) {
        for (Prompt& system : shared.systems) {
          system.append(ids_, profile.system_tokens);
          system.name_text(ids_);
        }
      }
      shared_.push_back(std::move(shared));
    }
    next_start_ns_ = arrivals_.next_ns();
  }

  static std::int64_t length(Rng& rng, std::int64_t mean, const SessionProfile& profile) {
    const std::int64_t spread = mean * profile.range_permille / 1000;
    return rng.between(mean - spread, mean + spread);
  }

  void begin_session() {
    Session session{.number = next_session_++, .rng = rng_.fork(), .history = {}};
    session.profile = session.rng.weighted(options_.shares);
    const Shared& shared = shared_[session.profile];
    session.history = shared.systems[shared.system_ranks.choose(session.rng)];
    for (std::int64_t i = 0; i < shared.profile.images; ++i) {
      session.history.append_content(ids_,
                                     shared.first_image + shared.image_ranks.choose(session.rng),
                                     shared.profile.image_tokens);
    }
    turns_.emplace(std::pair(next_start_ns_, next_order_++), std::move(session));
    next_start_ns_ = arrivals_.next_ns();
  }

  SessionOptions options_;
  SessionArrivals arrivals_;
  Rng rng_;
  BlockIds ids_;
  std::vector<Shared> shared_;
  // The next turn of every session that goes on, by time and, at the same time, by the order in
  // which the turns were decided on.
  std::map<std::pair<std::int64_t, std::uint64_t>, Session> turns_;
  std::int64_t next_start_ns_ = 0;
  std::uint64_t next_order_ = 0;
  std::uint64_t next_session_ = 0;
};

}  // namespace

std::unique_ptr<Generator> make_sessions(std::uint64_t seed,
                                         std::int64_t block_size,
                                         const SessionOptions& options) {
  return std::make_unique<Sessions>(seed, block_size, options);
}

}  // namespace octavo::sim

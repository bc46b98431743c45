#include "naive_serving.h"

#include <algorithm>
#include <optional>

#include "random_streams.h"
#include "serving_testing.h"

namespace octavo::sim {

using testkit::Prefix;
using testkit::Tokens;

namespace {

Tokens head(const Tokens& tokens, std::int64_t count) {
  return {tokens.begin(), tokens.begin() + count};
}

}  // namespace

NaiveServing::NaiveServing(std::vector<TraceRequest> trace,
                           std::int64_t trace_block,
                           const ServingConfig& config,
                           const StepCost& cost)
    : config_(config), cost_(cost), trace_block_(trace_block), router_(router_stream(config.seed)) {
  BlockManagerConfig blocks;
  blocks.num_blocks = config.num_blocks;
  blocks.block_size = config.block_size;
  blocks.max_seqs = config.max_num_seqs;
  blocks.prefix_caching = config.prefix_caching;
  blocks.partial_keys = !config.full_blocks_only;
  for (int i = 0; i < config.replicas; ++i) {
    Replica& replica = replicas_.emplace_back(blocks, replica_stream(config.seed, i));
    for (int slot = config.max_num_seqs - 1; slot >= 0; --slot) {
      replica.free_slots.push_back(slot);
    }
  }
  Rng clients = client_stream(config.seed);
  for (TraceRequest& source : trace) {
    Request& request = requests_.emplace_back();
    ServedRequest& report = request.report;
    report.request = std::ssize(requests_) - 1;
    report.session = source.session;
    report.input_tokens = source.input_tokens;
    request.warm = report.request < config.warm_requests || source.arrival_ns < config.warm_ns;
    if (config.timeout_ns > 0) {
      request.patience_ns = config.timeout_ns;
    }
    if (config.cancel_millionths > 0) {
      const bool cancels =
          clients.chance(static_cast<std::uint64_t>(config.cancel_millionths), kMillion);
      const std::int64_t patience = clients.exponential(config.cancel_mean_ns);
      if (cancels && (request.patience_ns < 0 || patience < request.patience_ns)) {
        request.patience_ns = patience;
      }
    }
    if (config.think_mean_ns && source.session) {
      request.think_ns = clients.exponential(*config.think_mean_ns);
    }
    request.source = std::move(source);
  }
}

// --- Small questions ---

std::int64_t NaiveServing::blocks_for(std::int64_t tokens) const {
  std::int64_t blocks = 0;
  while (blocks * config_.block_size < tokens) {
    ++blocks;
  }
  return blocks;
}

std::int64_t NaiveServing::positions(const Request& request) const {
  return request.source.input_tokens + std::max<std::int64_t>(request.source.output_tokens, 1) - 1;
}

bool NaiveServing::fits(const Request& request) const {
  const std::int64_t all = request.source.input_tokens + request.source.output_tokens;
  return blocks_for(positions(request)) <= config_.num_blocks &&
         (config_.max_model_len == 0 || all <= config_.max_model_len);
}

bool NaiveServing::more_urgent(int left, int right) {
  const Request& a = at(left);
  const Request& b = at(right);
  if (config_.order == QueueOrder::Priority && a.source.priority != b.source.priority) {
    return a.source.priority > b.source.priority;
  }
  return a.order < b.order;
}

std::int64_t NaiveServing::addressable(const Request& request) const {
  return config_.cache_outputs ? kAddressableAll : request.source.input_tokens;
}

// --- Coming ---

void NaiveServing::settle_arrivals() {
  for (int i = 0; i < static_cast<int>(requests_.size()); ++i) {
    if (at(i).state == State::Ahead && !at(i).arrival_known) {
      settle(i);
    }
  }
}

void NaiveServing::settle(int index) {
  Request& request = at(index);
  const bool thinks = config_.think_mean_ns && request.source.session;
  std::vector<int> others;
  if (config_.closed_loop && !request.warm) {
    for (const std::int64_t other : request.source.wait_for) {
      others.push_back(static_cast<int>(other));
    }
    for (int i = index - 1; i >= 0 && request.source.session; --i) {
      if (at(i).source.session == request.source.session) {
        if (thinks || request.source.delay_ns) {
          others.push_back(i);
        }
        break;
      }
    }
  }
  std::int64_t last_end = -1;
  for (const int other : others) {
    if (at(other).warm) {
      continue;
    }
    if (at(other).state != State::Ended) {
      return;
    }
    last_end = std::max(last_end, at(other).ended_ns);
  }
  request.arrival_known = true;
  request.arrival_ns = std::max(request.source.arrival_ns, last_end);
  if (last_end >= 0 && (thinks || request.source.delay_ns)) {
    request.arrival_ns = last_end + (thinks ? request.think_ns : *request.source.delay_ns);
  }
}

// Names by what SERVING.md says, positions one by one.
void NaiveServing::name_tokens(int index) {
  const Request& request = at(index);
  std::vector<const TraceRequest*> chain = {&request.source};
  for (int i = index + 1; i < static_cast<int>(requests_.size()) && request.source.session; ++i) {
    const TraceRequest& later = at(i).source;
    if (later.session != request.source.session || at(i).state == State::Ended) {
      continue;
    }
    const TraceRequest& last = *chain.back();
    bool continues = later.input_tokens >= last.input_tokens;
    for (std::int64_t b = 0; continues && b < last.input_tokens / trace_block_; ++b) {
      const auto block = static_cast<std::size_t>(b);
      continues = later.block_ids[block] == last.block_ids[block];
    }
    if (!continues) {
      break;
    }
    chain.push_back(&later);
  }
  // The first of the chain in which the position's block is whole, else the last, names it.
  Tokens tokens;
  for (std::int64_t p = 0; p < positions(request); ++p) {
    const std::int64_t block = p / trace_block_;
    const TraceRequest* namer = chain.back();
    for (auto turn = chain.rbegin(); turn != chain.rend(); ++turn) {
      namer = (block + 1) * trace_block_ <= (*turn)->input_tokens ? *turn : namer;
    }
    const bool prompt = p < request.source.input_tokens;
    const bool answer_sent = chain.size() > 1 && p < chain[1]->input_tokens;
    std::tuple<int, std::uint64_t, std::int64_t> name = {
        1, static_cast<std::uint64_t>(request.report.request), p};
    if ((prompt || answer_sent) && p < namer->input_tokens) {
      name = {0, namer->block_ids[static_cast<std::size_t>(block)], p % trace_block_};
    }
    const auto number = static_cast<std::int32_t>(token_numbers_.size());
    tokens.push_back(token_numbers_.emplace(name, number).first->second);
  }
  at(index).tokens = tokens;
}

NaiveServing::Lookup NaiveServing::look_up(const Replica& replica,
                                           const Tokens& prompt,
                                           std::int64_t addressable_len) const {
  Lookup found;
  if (!config_.prefix_caching) {
    return found;
  }
  std::int64_t limit = std::ssize(prompt) - 1;
  if (addressable_len >= 0) {
    limit = std::min(limit, addressable_len);
  }
  const testkit::NaiveModel& blocks = replica.blocks;
  while (found.tokens + config_.block_size <= limit) {
    const auto node = blocks.nodes().find({0, 0, head(prompt, found.tokens + config_.block_size)});
    if (node == blocks.nodes().end()) {
      break;
    }
    found.tokens += config_.block_size;
    found.parked += std::count(blocks.parked().begin(), blocks.parked().end(), node->second);
  }
  const auto keys = blocks.keys().find({0, 0, head(prompt, found.tokens)});
  std::int64_t longest = 0;
  if (keys != blocks.keys().end()) {
    for (const testkit::PartialKey& key : keys->second) {
      const std::int64_t length = std::ssize(key.tail);
      if (found.tokens + length <= limit &&
          std::equal(key.tail.begin(), key.tail.end(), prompt.begin() + found.tokens)) {
        longest = std::max(longest, length);
      }
    }
  }
  found.tokens += longest;
  return found;
}

int NaiveServing::route(const Request& request) {
  const std::size_t count = replicas_.size();
  std::vector<std::int64_t> loads(count, 0);
  for (const Request& other : requests_) {
    const bool there = other.state == State::Waiting || other.state == State::Prefill ||
                       other.state == State::Decode;
    if (there) {
      loads[static_cast<std::size_t>(other.report.replica)] += other.source.input_tokens;
    }
  }
  if (config_.router == RouterKind::PowerOfTwo) {
    if (count == 1) {
      return 0;
    }
    const std::size_t first = router_.below(count);
    std::size_t second = router_.below(count - 1);
    second += second >= first ? 1 : 0;
    return static_cast<int>(loads[second] < loads[first] ? second : first);
  }
  if (config_.router == RouterKind::RoundRobin) {
    loads.assign(count, 0);
  }
  if (config_.router == RouterKind::LongestPrefix) {
    const Tokens prompt = head(request.tokens, request.source.input_tokens);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t cached = look_up(replicas_[i], prompt, kAddressableAll).tokens;
      loads[i] += config_.prefix_weight * (request.source.input_tokens - cached);
    }
  }
  std::size_t best = turn_;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t candidate = (turn_ + i) % count;
    best = loads[candidate] < loads[best] ? candidate : best;
  }
  turn_ = (best + 1) % count;
  return static_cast<int>(best);
}

void NaiveServing::play_warm(int index) {
  name_tokens(index);
  Request& request = at(index);
  if (fits(request)) {
    Replica& replica = replicas_[static_cast<std::size_t>(route(request))];
    const Tokens prompt = head(request.tokens, request.source.input_tokens);
    const std::int32_t slot = replica.free_slots.back();
    const auto past =
        static_cast<std::int32_t>(replica.blocks.admit(slot, prompt, addressable(request)));
    const std::int32_t counts[] = {0, static_cast<std::int32_t>(request.tokens.size()) - past};
    replica.blocks.prepare_step(counts, {&past, 1}, {&slot, 1});
    replica.blocks.retire(slot, request.tokens, addressable(request));
  }
  request.state = State::Ended;
}

void NaiveServing::arrive(int index) {
  name_tokens(index);
  Request& request = at(index);
  request.report.arrival_ns = now_ns_;
  if (!fits(request)) {
    lines_.push_back(arrival_line(index, -1, now_ns_));
    end(index, RequestOutcome::Rejected);
    return;
  }
  request.report.replica = route(request);
  lines_.push_back(arrival_line(index, request.report.replica, now_ns_));
  Replica& replica = replicas_[static_cast<std::size_t>(request.report.replica)];
  request.state = State::Waiting;
  request.order = replica.arrived++;
  request.gives_up_ns = request.patience_ns < 0 ? -1 : now_ns_ + request.patience_ns;
  replica.waiting.push_back(index);
  replica.wants_plan = true;
}

// --- Going ---

void NaiveServing::leave(Replica& replica, int index) {
  Request& request = at(index);
  for (std::int64_t p = request.served; p < request.past; ++p) {
    (p < request.held ? request.report.recomputed_tokens : request.report.computed_tokens) += 1;
  }
  request.held = std::max(request.held, request.past);
  request.report.output_tokens = request.emitted;
  replica.free_slots.push_back(request.slot);
  request.slot = -1;
}

void NaiveServing::end(int index, RequestOutcome outcome) {
  Request& request = at(index);
  if (request.state != State::Ahead) {
    Replica& replica = replicas_[static_cast<std::size_t>(request.report.replica)];
    if (request.slot >= 0) {
      if (outcome == RequestOutcome::Finished) {
        replica.blocks.retire(request.slot, head(request.tokens, request.past),
                              addressable(request));
      } else {
        replica.blocks.evict(request.slot);
      }
      leave(replica, index);
    }
    std::erase(replica.waiting, index);
    std::erase(replica.prefills, index);
    std::erase(replica.decodes, index);
  }
  request.state = State::Ended;
  request.ended_ns = now_ns_;
  request.report.outcome = outcome;
  request.report.end_ns = now_ns_;
  lines_.push_back(line_of(request.report));
}

// --- Time ---

std::vector<std::string> NaiveServing::run() {
  for (int i = 0; i < static_cast<int>(requests_.size()); ++i) {
    if (at(i).warm) {
      play_warm(i);
    }
  }
  for (;;) {
    settle_arrivals();
    // What comes next: the least time, then kind, then who.
    std::optional<std::tuple<std::int64_t, int, int>> next;
    const auto consider = [&](std::int64_t time_ns, int kind, int who) {
      const std::tuple<std::int64_t, int, int> event = {time_ns, kind, who};
      next = next ? std::min(*next, event) : event;
    };
    for (int i = 0; i < static_cast<int>(replicas_.size()); ++i) {
      const Replica& replica = replicas_[static_cast<std::size_t>(i)];
      if (replica.stepping) {
        consider(replica.step.end_ns, 1, i);
      } else if (replica.wants_plan) {
        consider(now_ns_, 4, i);
      }
    }
    for (int i = 0; i < static_cast<int>(requests_.size()); ++i) {
      const Request& request = at(i);
      if (request.state == State::Ahead && request.arrival_known) {
        consider(request.arrival_ns, 3, i);
      } else if (request.state != State::Ahead && request.state != State::Ended &&
                 request.gives_up_ns >= 0 && !request.given_up) {
        consider(request.gives_up_ns, 2, i);
      }
    }
    if (!next) {
      return lines_;
    }
    const auto [time_ns, kind, who] = *next;
    now_ns_ = std::max(now_ns_, time_ns);
    if (kind == 1) {
      end_step(who);
    } else if (kind == 2) {
      Request& request = at(who);
      const bool stepping = replicas_[static_cast<std::size_t>(request.report.replica)].stepping;
      request.given_up = true;
      if (request.state == State::Waiting || !stepping) {
        end(who, RequestOutcome::Cancelled);
      }
    } else if (kind == 3) {
      arrive(who);
    } else {
      replicas_[static_cast<std::size_t>(who)].wants_plan = false;
      plan(who);
    }
  }
}

}  // namespace octavo::sim

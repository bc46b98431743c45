#include "naive_serving.h"

#include <algorithm>
#include <limits>
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

void erase(std::vector<int>& from, int value) {
  from.erase(std::remove(from.begin(), from.end(), value), from.end());
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

// --- A step ---

bool NaiveServing::get(Replica& replica, std::int64_t need, int wanted_by) {
  const auto free = [&] {
    return replica.blocks.unused_blocks() + std::ssize(replica.blocks.parked());
  };
  while (replica.demand + need > free()) {
    preempt(replica);
    if (at(wanted_by).state == State::Waiting) {
      return false;
    }
  }
  Request& request = at(wanted_by);
  request.need = need;
  replica.demand += need;
  replica.budget -= request.fed;
  return true;
}

void NaiveServing::preempt(Replica& replica) {
  int victim = -1;
  for (const std::vector<int>* running : {&replica.prefills, &replica.decodes}) {
    for (const int candidate : *running) {
      victim = victim < 0 || more_urgent(victim, candidate) ? candidate : victim;
    }
  }
  Request& request = at(victim);
  // What it was to feed is given back, if it was counted already.
  replica.budget += request.need < 0 ? 0 : request.fed;
  replica.demand -= request.need < 0 ? 0 : request.need;
  replica.blocks.evict(request.slot);
  leave(replica, victim);
  request.fed = 0;
  request.state = State::Waiting;
  ++request.report.preemptions;
  erase(replica.prefills, victim);
  erase(replica.decodes, victim);
  replica.waiting.push_back(victim);
  replica.preempted = true;
  lines_.push_back(preempted_line(victim, request.report.replica, now_ns_));
}

// What a running request feeds, as far as the budget goes.
void NaiveServing::plan_running(Replica& replica, int index) {
  Request& request = at(index);
  if (request.state == State::Waiting || replica.budget == 0) {
    return;
  }
  std::int64_t left = request.target - request.past;
  if (request.state == State::Decode) {
    left = std::min<std::int64_t>(1 + config_.draft_tokens,
                                  request.source.output_tokens - request.emitted);
  } else if (config_.max_prefill_chunk > 0) {
    left = std::min(left, config_.max_prefill_chunk);
  }
  request.fed = std::min(left, replica.budget);
  const std::int64_t bound =
      std::ssize(replica.blocks.slots()[static_cast<std::size_t>(request.slot)].cells);
  get(replica, std::max<std::int64_t>(0, blocks_for(request.past + request.fed) - bound), index);
}

void NaiveServing::plan(int index) {
  Replica& replica = replicas_[static_cast<std::size_t>(index)];
  replica.budget = config_.max_num_batched_tokens;
  replica.demand = 0;
  replica.preempted = false;
  for (Request& request : requests_) {
    if (request.report.replica == index) {
      request.fed = 0;
      request.need = -1;
    }
  }
  for (const std::vector<int>& running : {replica.decodes, replica.prefills}) {
    for (const int i : running) {
      plan_running(replica, i);
    }
  }
  while (!replica.preempted && !replica.waiting.empty() && replica.budget > 0 &&
         !replica.free_slots.empty()) {
    const std::size_t waiting = replica.waiting.size();
    admit(replica);
    if (replica.waiting.size() == waiting) {
      break;
    }
  }
  begin_step(replica, index);
}

void NaiveServing::begin_step(Replica& replica, int index) {
  ServingStep step;
  step.replica = index;
  step.begin_ns = now_ns_;
  std::vector<std::int32_t> counts = {0};
  std::vector<std::int32_t> past;
  std::vector<std::int32_t> slots;
  for (const std::vector<int>* running : {&replica.decodes, &replica.prefills}) {
    for (const int i : *running) {
      Request& request = at(i);
      if (request.fed == 0) {
        continue;
      }
      const bool decode = request.state == State::Decode;
      (decode ? step.shape.decode_sequences : step.shape.prefill_sequences) += 1;
      (decode ? step.shape.decode_tokens : step.shape.prefill_tokens) += request.fed;
      for (std::size_t s = 0; s < cost_.spans().size(); ++s) {
        const std::int64_t span =
            cost_.spans()[s] == 0 ? std::numeric_limits<std::int32_t>::max() : cost_.spans()[s];
        for (std::int64_t p = request.past + 1; p <= request.past + request.fed; ++p) {
          step.shape.attended_pairs[s] += std::min(p, span);
        }
        step.shape.read_tokens[s] += std::min(request.past + request.fed, span + request.fed - 1);
      }
      if (request.report.scheduled_ns < 0) {
        request.report.scheduled_ns = now_ns_;
      }
      counts.push_back(counts.back() + static_cast<std::int32_t>(request.fed));
      past.push_back(static_cast<std::int32_t>(request.past));
      slots.push_back(request.slot);
    }
  }
  if (slots.empty()) {
    return;
  }
  replica.blocks.prepare_step(counts, past, slots);
  step.end_ns = now_ns_ + cost_.step_time_ns(step.shape);
  replica.step = step;
  replica.stepping = true;
}

void NaiveServing::admit(Replica& replica) {
  int chosen = replica.waiting.front();
  for (const int candidate : replica.waiting) {
    chosen = more_urgent(candidate, chosen) ? candidate : chosen;
  }
  Request& request = at(chosen);
  const std::int64_t target = request.source.input_tokens + request.emitted;
  const Tokens prompt = head(request.tokens, target);
  const auto fed = [&](std::int64_t left) {
    const std::int64_t most = std::min(left, replica.budget);
    return config_.max_prefill_chunk > 0 ? std::min(most, config_.max_prefill_chunk) : most;
  };
  const auto free = [&] {
    return replica.blocks.unused_blocks() + std::ssize(replica.blocks.parked());
  };
  const Lookup cached = look_up(replica, prompt, addressable(request));
  const std::int64_t need =
      blocks_for(cached.tokens + fed(target - cached.tokens)) - cached.tokens / config_.block_size;
  if (replica.demand + cached.parked + need > free()) {
    return;
  }
  const int slot = replica.free_slots.back();
  const std::int64_t served = replica.blocks.admit(slot, prompt, addressable(request));
  const std::int64_t bound =
      std::ssize(replica.blocks.slots()[static_cast<std::size_t>(slot)].cells);
  request.fed = fed(target - served);
  request.need = std::max<std::int64_t>(0, blocks_for(served + request.fed) - bound);
  if (replica.demand + request.need > free()) {
    replica.blocks.evict(slot);
    request.fed = 0;
    return;
  }
  replica.free_slots.pop_back();
  erase(replica.waiting, chosen);
  replica.prefills.push_back(chosen);
  replica.budget -= request.fed;
  replica.demand += request.need;
  request.state = State::Prefill;
  request.slot = slot;
  request.past = request.served = served;
  request.target = target;
  if (request.report.scheduled_ns < 0) {
    request.report.cached_tokens = served;
  } else {
    request.report.later_cached_tokens += std::max<std::int64_t>(0, served - request.held);
  }
}

void NaiveServing::end_step(int index) {
  Replica& replica = replicas_[static_cast<std::size_t>(index)];
  replica.stepping = false;
  replica.wants_plan = true;
  for (const int i : replica.decodes) {
    Request& request = at(i);
    if (request.fed == 0) {
      continue;
    }
    std::int64_t accepted = 0;
    while (accepted < request.fed - 1 &&
           replica.rng.chance(static_cast<std::uint64_t>(config_.accept_millionths), kMillion)) {
      ++accepted;
    }
    request.report.draft_tokens += request.fed - 1;
    request.report.rejected_draft_tokens += request.fed - 1 - accepted;
    request.past += accepted + 1;
    request.emitted += accepted + 1;
    if (accepted < request.fed - 1) {
      replica.blocks.update_position(request.slot, request.past);
    }
  }
  const auto end_some = [&](const std::vector<int>& running) {
    for (const int i : running) {
      const Request& request = at(i);
      const bool done = request.past >= request.source.input_tokens &&
                        request.emitted == request.source.output_tokens;
      if (done || request.given_up) {
        end(i, done ? RequestOutcome::Finished : RequestOutcome::Cancelled);
      }
    }
  };
  end_some(std::vector<int>(replica.decodes));
  for (const int i : replica.prefills) {
    Request& request = at(i);
    request.past += request.fed;
    if (request.fed > 0) {
      replica.blocks.update_position(request.slot, request.past);
    }
    if (request.past == request.target && request.source.output_tokens > 0) {
      request.emitted += 1;
      if (request.emitted == 1) {
        request.report.first_token_ns = now_ns_;
      }
    }
  }
  end_some(std::vector<int>(replica.prefills));
  for (const int i : std::vector<int>(replica.prefills)) {
    if (at(i).past == at(i).target) {
      at(i).state = State::Decode;
      erase(replica.prefills, i);
      replica.decodes.push_back(i);
    }
  }
  ServingStep& step = replica.step;
  step.waiting_requests = std::ssize(replica.waiting);
  step.running_requests = std::ssize(replica.prefills) + std::ssize(replica.decodes);
  step.parked_blocks = std::ssize(replica.blocks.parked());
  step.free_blocks = replica.blocks.unused_blocks();
  step.live_blocks = config_.num_blocks - step.parked_blocks - step.free_blocks;
  lines_.push_back(line_of(step));
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
    erase(replica.waiting, index);
    erase(replica.prefills, index);
    erase(replica.decodes, index);
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

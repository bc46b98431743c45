#include "octavo/sim/kv_event_oracle.h"

#include <functional>
#include <limits>
#include <unordered_map>

#include "log_ops.h"
#include "log_requests.h"
#include "octavo/error.h"
#include "octavo/sim/input_error.h"
#include "prompt_tokens.h"
#include "replayed_pool.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

std::string hash_text(std::uint64_t hash) {
  KvBlockName name = "i";
  for (int shift = 56; shift >= 0; shift -= 8) {
    name += static_cast<char>(hash >> shift & 0xffU);
  }
  return to_text(name);
}

// Which block of the engine is which of ours, while both hold it.
class Pairs {
 public:
  struct Ours {
    std::uint64_t hash = 0;
    std::int64_t position = -1;
  };

  const Ours* find(const KvBlockName& engine) const {
    const auto found = ours_.find(engine);
    return found != ours_.end() ? &found->second : nullptr;
  }
  void join(const KvBlockName& engine, const Ours& ours) { ours_[engine] = ours; }
  void part(const KvBlockName& engine) { ours_.erase(engine); }
  void clear() { ours_.clear(); }

 private:
  // Looked up by name only, never iterated.
  std::unordered_map<KvBlockName, Ours> ours_;
};

class Oracle {
 public:
  Oracle(const std::string& path, const OracleOptions& options, bool compares_tokens)
      : options_(options),
        compares_tokens_(compares_tokens),
        log_(path, options),
        block_size_(first_block_size()),
        pool_(options, block_size_) {
    result_.block_size = block_size_;
  }

  bool goes_on() const {
    return !result_.difference && (options_.limit == 0 || result_.requests < options_.limit);
  }
  std::int64_t block_size() const { return block_size_; }
  OracleResult& result() { return result_; }

  // Serves a prompt of at most kInt32Max tokens, or clears the pool for an empty one.
  void serve(std::span<const std::int32_t> prompt, std::int64_t addressable_len) {
    if (prompt.empty()) {
      pool_.clear();
    } else {
      ++result_.requests;
      result_.prompt_tokens += static_cast<std::int64_t>(prompt.size());
      result_.hit_tokens += pool_.serve(prompt, addressable_len);
    }
    for (const OurOp& op : pool_.ops()) {
      if (result_.difference) {
        break;
      }
      compare(op);
    }
    pool_.forget();
  }

  // The requests are over: so must the log be, unless only some of them were asked for.
  void finish() {
    if (!result_.difference && (options_.limit == 0 || result_.requests < options_.limit)) {
      const LogOp* left = log_.stored();
      left = left != nullptr ? left : log_.removed();
      if (left != nullptr) {
        differ(OracleDifference::Kind::EngineLeft, left->kind, left, nullptr,
               "the requests are over, and the log goes on");
      }
    }
    result_.events_passed_over = log_.ops().events_passed_over();
  }

  bool holds(std::int64_t tokens) const {
    return (tokens + block_size_ - 1) / block_size_ <= options_.blocks;
  }

 private:
  using Kind = OracleDifference::Kind;

  std::int64_t first_block_size() {
    log_.stored();
    if (log_.ops().block_size() == 0) {
      throw InputError(log_.ops().name(), 0, "", "stores no block, expected a log that does");
    }
    return log_.ops().block_size();
  }

  void compare(const OurOp& ours) {
    switch (ours.kind) {
      case KvEventKind::BlockStored:
        return compare_stored(ours);
      case KvEventKind::BlockRemoved:
        return compare_removed(ours);
      case KvEventKind::AllBlocksCleared:
        return compare_cleared(ours);
    }
  }

  void compare_stored(const OurOp& ours) {
    const LogOp* engine = log_.stored();
    if (engine == nullptr || engine->kind != KvEventKind::BlockStored) {
      return differ_at_end(engine, ours, "stores");
    }
    const Pairs::Ours* known = pairs_.find(engine->name);
    const Pairs::Ours* parent = engine->parent ? pairs_.find(*engine->parent) : nullptr;
    const bool same_parent = engine->parent.has_value()
                                 ? parent != nullptr && ours.parent == parent->hash
                                 : !ours.parent.has_value();
    const char* what = nullptr;
    if (known != nullptr) {
      what = "the engine stores a block which is cached, the replay one which is not";
    } else if (!same_parent) {
      what = "the engine and the replay store blocks behind different ones";
    } else if (compares_tokens_ && engine->tokens != ours.tokens) {
      what = "the engine and the replay store blocks of different tokens";
    }
    if (what != nullptr) {
      return differ(Kind::Stored, KvEventKind::BlockStored, engine, &ours, what);
    }
    pairs_.join(engine->name, {ours.hash, ours.position});
    ++result_.stores_agreed;
    log_.pop_stored();
  }

  void compare_removed(const OurOp& ours) {
    const LogOp* engine = log_.removed();
    if (engine == nullptr || engine->kind != KvEventKind::BlockRemoved) {
      return differ_at_end(engine, ours, "evicts");
    }
    const Pairs::Ours* pair = pairs_.find(engine->name);
    if (pair == nullptr || pair->hash != ours.hash) {
      return differ(Kind::Removed, KvEventKind::BlockRemoved, engine, &ours,
                    pair == nullptr ? "the engine evicts a block that the replay does not have"
                                    : "the engine and the replay evict different blocks");
    }
    pairs_.part(engine->name);
    ++result_.removals_agreed;
    log_.pop_removed();
  }

  void compare_cleared(const OurOp& ours) {
    const LogOp* stored = log_.stored();
    const LogOp* removed = log_.removed();
    for (const LogOp* engine : {stored, removed}) {
      if (engine == nullptr || engine->kind != KvEventKind::AllBlocksCleared) {
        return differ(Kind::EngineLeft, engine == nullptr ? ours.kind : engine->kind, engine, &ours,
                      "the replay clears its cache, the engine does more before it does");
      }
    }
    log_.pop_stored();
    log_.pop_removed();
    pairs_.clear();
    ++result_.clears_agreed;
  }

  void differ_at_end(const LogOp* engine, const OurOp& ours, const char* verb) {
    if (engine == nullptr) {
      differ(Kind::OursLeft, ours.kind, nullptr, &ours,
             std::string("the replay ") + verb + " a block, and the log has ended");
    } else {
      differ(Kind::EngineCleared, ours.kind, engine, &ours,
             std::string("the replay ") + verb + " a block, the engine clears its cache");
    }
  }

  void differ(
      Kind kind, KvEventKind event, const LogOp* engine, const OurOp* ours, std::string what) {
    OracleDifference difference{
        .kind = kind, .event = event, .what = std::move(what), .engine = {}, .ours = {}};
    difference.request = result_.requests;
    if (engine != nullptr) {
      difference.batch = engine->batch;
      difference.engine.name = engine->name.empty() ? "" : to_text(engine->name);
      difference.engine.position = position_of(*engine);
    }
    if (ours != nullptr) {
      difference.ours = {hash_text(ours->hash), ours->position};
    }
    result_.difference = std::move(difference);
  }

  std::int64_t position_of(const LogOp& engine) const {
    if (const Pairs::Ours* pair = pairs_.find(engine.name)) {
      return pair->position;
    }
    if (engine.kind != KvEventKind::BlockStored) {
      return -1;
    }
    const Pairs::Ours* parent = engine.parent ? pairs_.find(*engine.parent) : nullptr;
    return !engine.parent ? 0 : (parent != nullptr ? parent->position + 1 : -1);
  }

  OracleOptions options_;
  bool compares_tokens_;
  LogQueues log_;
  std::int64_t block_size_;
  ReplayedPool pool_;
  Pairs pairs_;
  OracleResult result_;
};

void check(const OracleOptions& options) {
  if (options.blocks < 1 || options.blocks > kInt32Max) {
    throw Error(
        ErrorCode::InvalidArgument,
        "check_events: blocks " + std::to_string(options.blocks) + " is outside [1, 2147483647]");
  }
  if (options.limit < 0) {
    throw Error(ErrorCode::InvalidArgument,
                "check_events: limit " + std::to_string(options.limit) + " is negative");
  }
}

void check_length(const Oracle& oracle,
                  const std::string& name,
                  std::int64_t line,
                  std::int64_t tokens,
                  std::int64_t blocks) {
  if (tokens > kInt32Max || !oracle.holds(tokens)) {
    throw InputError(name, line, "",
                     "a request of " + std::to_string(tokens) + " tokens, expected one that " +
                         std::to_string(blocks) + " blocks hold");
  }
}

void serve_trace(Oracle& oracle, TraceReader& requests, const OracleOptions& options) {
  PromptTokens tokens(requests.block_size(), 0);
  for (TraceRequest request; oracle.goes_on() && requests.next(request);) {
    check_length(oracle, requests.name(), requests.line(), request.input_tokens, options.blocks);
    oracle.serve(tokens.expand(request), kAddressableAll);
  }
}

void serve_log(Oracle& oracle, const std::string& path, const OracleOptions& options) {
  LogRequests requests(path, options);
  for (std::vector<std::int32_t> tokens; oracle.goes_on() && requests.next(tokens);) {
    const auto whole = static_cast<std::int64_t>(tokens.size());
    if (!tokens.empty()) {
      tokens.push_back(0);  // Never shared, not even as a block of one token.
      check_length(oracle, path, 0, static_cast<std::int64_t>(tokens.size()), options.blocks);
    }
    oracle.serve(tokens, whole);
  }
}

}  // namespace

OracleResult check_events(const std::string& log_path,
                          const OracleOptions& options,
                          TraceReader* requests) {
  check(options);
  if (log_path == "-" && requests == nullptr) {
    throw Error(ErrorCode::InvalidArgument,
                "check_events: standard input cannot be read twice, expected a file");
  }
  Oracle oracle(log_path, options, requests == nullptr);
  if (requests != nullptr) {
    serve_trace(oracle, *requests, options);
  } else {
    serve_log(oracle, log_path, options);
  }
  oracle.finish();
  return std::move(oracle.result());
}

}  // namespace octavo::sim

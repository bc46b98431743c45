#include "weka_session.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "decimal.h"
#include "json_scanner.h"
#include "octavo/sim/input_error.h"
#include "trace_fields.h"

namespace octavo::sim {
namespace {

enum Field : unsigned {
  kTime,
  kType,
  kInput,
  kOutput,
  kHashIds,
  kApiTime,
  kTtft,
  kThinkTime,
  kDuration,
  kRequests
};
enum SessionField : unsigned { kBlockSize, kScope, kSessionRequests };

constexpr int kAgentDepthMax = 16;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Request {
  TraceRequest request;
  std::optional<std::int64_t> think_ns;
  std::size_t agent = 0;
  std::int64_t line = 0;
  std::string where;

  // What it waits for, known once the document is read.
  std::vector<std::size_t> after;        // Requests, besides the one before it in its session.
  std::optional<std::int64_t> ready_ns;  // When the last of all these had ended.

  std::optional<std::int64_t> end_ns() const {
    if (!request.service_ns) {
      return std::nullopt;
    }
    return request.arrival_ns + *request.service_ns;
  }
};

// What an agent did, in the order of the document.
struct Step {
  bool is_agent;
  std::size_t index;  // In requests_ or agents_.
};

struct Agent {
  std::size_t parent = kNone;
  std::int64_t end_ns = 0;
  std::vector<Step> steps{};
};

// One object of an array of requests, before it is known whether it is a sub-agent.
struct Entry {
  SeenFields seen{};
  Request request{};
  std::string type{};
  std::optional<std::int64_t> duration_ns{};
  std::size_t agent = kNone;          // What its own array of requests became.
  std::size_t first_request = kNone;  // Of that array.
};

class SessionParser {
 public:
  SessionParser(const std::string& file, std::string_view document, std::int64_t line)
      : file_(file), scanner_(file) {
    scanner_.start(document, line);
  }

  WekaSession parse() {
    agents_.emplace_back();
    SeenFields seen;
    for (std::string_view key; scanner_.next_key(key);) {
      if (key == "block_size") {
        seen.add(scanner_, kBlockSize, key);
        read_block_size();
      } else if (key == "hash_id_scope") {
        seen.add(scanner_, kScope, key);
        read_scope();
      } else if (key == "requests") {
        seen.add(scanner_, kSessionRequests, key);
        read_requests(0, "", 0);
      } else {
        scanner_.skip_value();
      }
    }
    seen.require(scanner_, kBlockSize, "block_size", "the number of tokens an id stands for");
    seen.require(scanner_, kSessionRequests, "requests", "an array of requests");
    check_ids();
    for (const Agent& agent : agents_) {
      find_waits(agent);
    }
    hand_over();
    return std::move(session_);
  }

 private:
  void read_block_size() {
    session_.block_size = read_count(scanner_, "block_size", 1);
    if (session_.block_size > kTraceBlockMax) {
      scanner_.refuse("block_size", "is out of range (" + std::to_string(session_.block_size) +
                                        "), expected an integer in [1, " +
                                        std::to_string(kTraceBlockMax) + "]");
    }
  }

  void read_scope() {
    std::string_view scope;
    const bool known = scanner_.text(scope) && (scope == "local" || scope == "global");
    if (!known) {
      scanner_.refuse("hash_id_scope", "is another one, expected \"local\" or \"global\"");
    }
    session_.global_ids = scope == "global";
  }

  void read_requests(std::size_t agent, const std::string& where, int depth) {
    if (depth > kAgentDepthMax) {
      scanner_.refuse("requests",
                      "nest more than 16 deep, expected fewer sub-agents of sub-agents");
    }
    if (!scanner_.enter_array()) {
      scanner_.refuse("requests",
                      "is " + scanner_.describe_value() + ", expected an array of requests");
    }
    std::size_t count = 0;
    for (bool first = true; scanner_.next_element(first); first = false) {
      const std::string here = where + "requests[" + std::to_string(count++) + "].";
      scanner_.within(here);
      read_entry(agent, here, depth);
      scanner_.within(where);
    }
  }

  void read_entry(std::size_t agent, const std::string& where, int depth) {
    if (!scanner_.enter_object()) {
      scanner_.refuse("", "a request is " + scanner_.describe_value() + ", expected an object");
    }
    Entry entry;
    std::string_view key;
    for (bool first = true; scanner_.next_member(key, first); first = false) {
      if (key == "requests") {
        entry.seen.add(scanner_, kRequests, key);
        entry.agent = agents_.size();
        entry.first_request = requests_.size();
        agents_.emplace_back().parent = agent;
        read_requests(entry.agent, where, depth + 1);
        scanner_.within(where);
      } else if (!take(key, entry) && !take_times(key, entry)) {
        scanner_.skip_value();
      }
    }
    entry.seen.require(scanner_, kTime, "t", "seconds");
    entry.seen.require(scanner_, kType, "type", "\"n\", \"s\" or \"subagent\"");
    if (entry.type == "subagent") {
      end_agent(agent, entry);
    } else if (entry.type == "n" || entry.type == "s") {
      end_request(agent, where, entry);
    } else {
      scanner_.refuse("type",
                      "is \"" + shown(entry.type) + "\", expected \"n\", \"s\" or \"subagent\"");
    }
  }

  bool take(std::string_view key, Entry& entry) {
    TraceRequest& request = entry.request.request;
    if (key == "t") {
      entry.seen.add(scanner_, kTime, key);
      request.arrival_ns = read_time_ns(scanner_, "t", kSecondDigits);
    } else if (key == "type") {
      entry.seen.add(scanner_, kType, key);
      entry.type = read_name(scanner_, "type");
    } else if (key == "in") {
      entry.seen.add(scanner_, kInput, key);
      request.input_tokens = read_count(scanner_, "in", 1);
    } else if (key == "out") {
      entry.seen.add(scanner_, kOutput, key);
      request.output_tokens = read_count(scanner_, "out", 0);
    } else if (key == "hash_ids") {
      entry.seen.add(scanner_, kHashIds, key);
      read_ids(scanner_, "hash_ids", request.block_ids);
    } else {
      return false;
    }
    return true;
  }

  bool take_times(std::string_view key, Entry& entry) {
    Request& request = entry.request;
    if (key == "api_time") {
      take_time(key, kApiTime, kSecondDigits, entry.seen, request.request.service_ns);
    } else if (key == "ttft") {
      take_time(key, kTtft, kSecondDigits, entry.seen, request.request.ttft_ns);
    } else if (key == "think_time") {
      take_time(key, kThinkTime, kSecondDigits, entry.seen, request.think_ns);
    } else if (key == "duration_ms") {
      take_time(key, kDuration, kMillisecondDigits, entry.seen, entry.duration_ns);
    } else {
      return false;
    }
    return true;
  }

  void take_time(std::string_view key,
                 Field field,
                 int digits,
                 SeenFields& seen,
                 std::optional<std::int64_t>& time_ns) {
    if (!scanner_.null()) {
      seen.add(scanner_, field, key);
      time_ns = read_time_ns(scanner_, key, digits);
    }
  }

  void end_request(std::size_t agent, const std::string& where, Entry& entry) {
    entry.seen.require(scanner_, kInput, "in", "a number of tokens");
    entry.seen.require(scanner_, kOutput, "out", "a number of tokens");
    entry.seen.require(scanner_, kHashIds, "hash_ids", "an array of integers");
    if (entry.agent != kNone) {
      scanner_.refuse("requests", "is there, expected it in a sub-agent only");
    }
    Request& request = entry.request;
    add_times(scanner_, "api_time", request.request.arrival_ns,
              request.request.service_ns.value_or(0));
    request.agent = agent;
    request.line = scanner_.line_number();
    request.where = where;
    agents_[agent].steps.push_back({.is_agent = false, .index = requests_.size()});
    requests_.push_back(std::move(request));
  }

  // The time of a sub-agent is when its result was there; those of its requests count from when it
  // was started.
  void end_agent(std::size_t parent, const Entry& entry) {
    entry.seen.require(scanner_, kRequests, "requests", "an array of requests");
    const std::int64_t end_ns = entry.request.request.arrival_ns;
    std::int64_t lasted_ns = 0;
    if (entry.duration_ns) {
      lasted_ns = *entry.duration_ns;
    } else if (entry.first_request != requests_.size()) {
      const Request& last = requests_.back();
      lasted_ns = last.end_ns().value_or(last.request.arrival_ns);
    }
    const std::int64_t start_ns = std::max<std::int64_t>(0, end_ns - lasted_ns);
    for (std::size_t i = entry.first_request; i < requests_.size(); ++i) {
      std::int64_t& arrival_ns = requests_[i].request.arrival_ns;
      arrival_ns = add_times(scanner_, "t", arrival_ns, start_ns);
      add_times(scanner_, "api_time", arrival_ns, requests_[i].request.service_ns.value_or(0));
    }
    for (std::size_t i = entry.agent + 1; i < agents_.size(); ++i) {
      agents_[i].end_ns = add_times(scanner_, "t", agents_[i].end_ns, start_ns);
    }
    agents_[entry.agent].end_ns = end_ns;
    agents_[parent].steps.push_back({.is_agent = true, .index = entry.agent});
  }

  void check_ids() const {
    for (const Request& request : requests_) {
      const auto ids = static_cast<std::int64_t>(request.request.block_ids.size());
      const std::int64_t expected = request.request.input_tokens / session_.block_size;
      if (ids != expected) {
        throw InputError(file_, request.line, request.where + "hash_ids",
                         "has " + std::to_string(ids) + " ids, expected " +
                             std::to_string(expected) + " = floor(in " +
                             std::to_string(request.request.input_tokens) + " / " +
                             std::to_string(session_.block_size) + " tokens a block)");
      }
    }
  }

  // An agent goes on when its last request and all sub-agents started since have ended; a sub-agent
  // begins after the request that started it.
  void find_waits(const Agent& agent) {
    std::size_t before = kNone;
    std::vector<std::size_t> started;
    for (const Step& step : agent.steps) {
      if (step.is_agent) {
        started.push_back(step.index);
        const std::size_t first = first_request_of(step.index);
        if (first != kNone && before != kNone && requests_[before].end_ns()) {
          requests_[first].after.push_back(before);
          requests_[first].ready_ns = requests_[before].end_ns();
        }
        continue;
      }
      Request& request = requests_[step.index];
      if (before != kNone) {
        request.ready_ns = requests_[before].end_ns();
        if (!request.ready_ns && request.think_ns) {
          request.ready_ns = request.request.arrival_ns - *request.think_ns;
        }
      }
      for (const std::size_t index : started) {
        if (const std::size_t last = last_request_of(index); last != kNone) {
          request.after.push_back(last);
          request.ready_ns = std::max(request.ready_ns.value_or(0), agents_[index].end_ns);
        }
      }
      started.clear();
      before = step.index;
    }
  }

  std::size_t first_request_of(std::size_t agent) const {
    for (const Step& step : agents_[agent].steps) {
      if (!step.is_agent) {
        return step.index;
      }
    }
    return kNone;
  }

  std::size_t last_request_of(std::size_t agent) const {
    std::size_t last = kNone;
    for (const Step& step : agents_[agent].steps) {
      last = step.is_agent ? last : step.index;
    }
    return last;
  }

  // Puts the requests in order of arrival, the numbers in `wait_for` with them.
  void hand_over() {
    std::vector<std::size_t> order(requests_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return requests_[a].request.arrival_ns < requests_[b].request.arrival_ns;
    });
    std::vector<std::int64_t> positions(requests_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      positions[order[i]] = static_cast<std::int64_t>(i);
    }
    for (const std::size_t index : order) {
      Request& from = requests_[index];
      TraceRequest& request = from.request;
      for (const std::size_t after : from.after) {
        // One that was recorded to begin later cannot have been waited for.
        if (positions[after] < positions[index]) {
          request.wait_for.push_back(positions[after]);
        }
      }
      if (from.ready_ns) {
        request.delay_ns = std::max<std::int64_t>(0, request.arrival_ns - *from.ready_ns);
      }
      request.session = from.agent;
      if (from.agent != 0) {
        request.parent_session = agents_[from.agent].parent;
      }
      session_.requests.push_back(std::move(request));
      session_.lines.push_back(from.line);
    }
    session_.sessions = agents_.size();
  }

  const std::string& file_;
  JsonScanner scanner_;
  WekaSession session_;
  std::vector<Agent> agents_;
  std::vector<Request> requests_;
};

}  // namespace

WekaSession parse_weka_session(const std::string& file,
                               std::string_view document,
                               std::int64_t line) {
  return SessionParser(file, document, line).parse();
}

}  // namespace octavo::sim

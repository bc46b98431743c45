// LLMServingSim JSONL: one object a request, or one a session with its requests inside. Prompts may
// be there as token ids; these are chained into prefix ids of whole blocks.

#include <limits>
#include <optional>
#include <vector>

#include "json_scanner.h"
#include "name_table.h"
#include "octavo/sim/input_error.h"
#include "prefix_chain.h"
#include "trace_fields.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

enum Field : unsigned { kInput, kOutput, kArrival, kTokens, kOutputIds, kSession, kParts, kTool };

constexpr int kNanosecondDigits = 0;
constexpr std::uint64_t kTokenMax = std::numeric_limits<std::uint32_t>::max();

// One request, or one part of a session.
struct Part {
  TraceRequest request{};
  std::int64_t tool_ns = 0;  // Until the next part, once this one has ended.
  std::int64_t tokens = 0;   // Ids of input_tok_ids.
  SeenFields seen{};
};

// Takes memory for each distinct session, and for the requests of one.
class LlmServingSimReader final : public TraceReader {
 public:
  LlmServingSimReader(LineReader&& lines, std::int64_t block_size, bool tokens)
      : TraceReader(lines.name(),
                    TraceFormat::LlmServingSim,
                    tokens ? block_size : 1,
                    {.prefix_ids = tokens, .tail_has_id = false}),
        lines_(std::move(lines)),
        scanner_(name()) {}

  std::int64_t line() const noexcept override { return lines_.line(); }

 private:
  bool read(TraceRequest& request) override {
    while (at_ == parts_) {
      std::string_view line;
      if (!lines_.next(line)) {
        if (!any_) {
          throw InputError(name(), lines_.line(), "sub_requests",
                           "there is none, expected at least one request");
        }
        return false;
      }
      read_line(line);
    }
    any_ = true;
    std::swap(request, queue_[at_].request);
    ++at_;
    return true;
  }

  void read_line(std::string_view line) {
    at_ = 0;
    parts_ = 0;
    reset(flat_);
    scanner_.within("");
    scanner_.start(line, lines_.line());
    for (std::string_view key; scanner_.next_key(key);) {
      if (key == "arrival_time_ns") {
        flat_.seen.add(scanner_, kArrival, key);
        flat_.request.arrival_ns = read_time_ns(scanner_, "arrival_time_ns", kNanosecondDigits);
      } else if (key == "session_id" && !scanner_.null()) {
        flat_.seen.add(scanner_, kSession, key);
        flat_.request.session = sessions_.number(read_name(scanner_, "session_id"));
      } else if (key == "sub_requests") {
        flat_.seen.add(scanner_, kParts, key);
        read_parts();
      } else if (!take(key, flat_)) {
        scanner_.skip_value();
      }
    }
    flat_.seen.require(scanner_, kArrival, "arrival_time_ns", "nanoseconds");
    if (!flat_.seen.has(kParts)) {
      check(flat_);
      std::swap(flat_.request, next_part().request);
      return;
    }
    flat_.seen.require(scanner_, kSession, "session_id", "the name of the session");
    place_parts();
  }

  void read_parts() {
    if (!scanner_.enter_array()) {
      scanner_.refuse("sub_requests",
                      "is " + scanner_.describe_value() + ", expected an array of requests");
    }
    for (bool first = true; scanner_.next_element(first); first = false) {
      scanner_.within("sub_requests[" + std::to_string(parts_) + "].");
      if (!scanner_.enter_object()) {
        scanner_.refuse("", "a request is " + scanner_.describe_value() + ", expected an object");
      }
      Part& part = next_part();
      std::string_view key;
      for (bool first_key = true; scanner_.next_member(key, first_key); first_key = false) {
        if (key == "tool_duration_ns" && !scanner_.null()) {
          part.seen.add(scanner_, kTool, key);
          part.tool_ns = read_time_ns(scanner_, "tool_duration_ns", kNanosecondDigits);
        } else if (!take(key, part)) {
          scanner_.skip_value();
        }
      }
      check(part);
      scanner_.within("");
    }
  }

  Part& next_part() {
    if (parts_ == queue_.size()) {
      queue_.emplace_back();
    }
    Part& part = queue_[parts_++];
    reset(part);
    return part;
  }

  static void reset(Part& part) {
    part.request.clear();
    part.tool_ns = 0;
    part.tokens = 0;
    part.seen = {};
  }

  bool take(std::string_view key, Part& part) {
    if (key == "input_toks") {
      part.seen.add(scanner_, kInput, key);
      part.request.input_tokens = read_count(scanner_, "input_toks", 1);
    } else if (key == "output_toks") {
      part.seen.add(scanner_, kOutput, key);
      part.request.output_tokens = read_count(scanner_, "output_toks", 0);
    } else if (key == "input_tok_ids" && !scanner_.null()) {
      part.seen.add(scanner_, kTokens, key);
      part.tokens = read_tokens("input_tok_ids", &part.request.block_ids);
    } else if (key == "output_tok_ids" && !scanner_.null()) {
      part.seen.add(scanner_, kOutputIds, key);
      read_tokens("output_tok_ids", nullptr);
    } else {
      return false;
    }
    return true;
  }

  // Counts tokens, and hashes those of each whole block into one id.
  std::int64_t read_tokens(std::string_view field, std::vector<std::uint64_t>* ids) {
    if (!scanner_.enter_array()) {
      scanner_.refuse(field,
                      "is " + scanner_.describe_value() + ", expected an array of token ids");
    }
    std::int64_t count = 0;
    std::uint64_t prefix = kChainRoot;
    for (bool first = true; scanner_.next_element(first); first = false) {
      const std::uint64_t token = read_id(scanner_, field);
      if (token > kTokenMax) {
        scanner_.refuse(field, "has the token " + std::to_string(token) + ", expected at most " +
                                   std::to_string(kTokenMax));
      }
      prefix = chain_id(prefix, token);
      ++count;
      if (ids != nullptr && count % block_size() == 0) {
        ids->push_back(prefix);
      }
    }
    return count;
  }

  void check(const Part& part) {
    part.seen.require(scanner_, kInput, "input_toks", "a number of tokens");
    part.seen.require(scanner_, kOutput, "output_toks", "a number of tokens");
    if (traits().prefix_ids) {
      part.seen.require(scanner_, kTokens, "input_tok_ids", "token ids as in the first request");
      if (part.tokens != part.request.input_tokens) {
        scanner_.refuse("input_tok_ids", "has " + std::to_string(part.tokens) + " ids, expected " +
                                             std::to_string(part.request.input_tokens) +
                                             " as in input_toks");
      }
    } else if (part.seen.has(kTokens)) {
      scanner_.refuse("input_tok_ids", "is there, expected none as in the first request");
    }
  }

  // The parts of the session just read: each one waits for the one before it and the tool behind.
  void place_parts() {
    std::int64_t arrival_ns = flat_.request.arrival_ns;
    for (std::size_t i = 0; i < parts_; ++i) {
      TraceRequest& request = queue_[i].request;
      request.session = flat_.request.session;
      if (i > 0) {
        request.delay_ns = queue_[i - 1].tool_ns;
        arrival_ns = add_times(scanner_, "tool_duration_ns", arrival_ns, *request.delay_ns);
      }
      request.arrival_ns = arrival_ns;
    }
  }

  LineReader lines_;
  JsonScanner scanner_;
  NameTable sessions_;
  Part flat_;
  std::vector<Part> queue_;  // The first parts_ are of the line at hand.
  std::size_t parts_ = 0;
  std::size_t at_ = 0;
  bool any_ = false;
};

// Whether the first request of the line has its prompt as tokens.
bool has_tokens(LineReader& lines) {
  std::string_view line;
  lines.next(line);
  lines.unread();
  JsonScanner scanner(lines.name());
  scanner.start(line, lines.line());
  bool tokens = false;
  for (std::string_view key; scanner.next_key(key);) {
    if (scanner.null()) {
      continue;
    }
    tokens |= key == "input_tok_ids";
    if (key != "sub_requests" || !scanner.enter_array()) {
      scanner.skip_value();
      continue;
    }
    for (bool first = true; scanner.next_element(first); first = false) {
      if (!first || !scanner.enter_object()) {
        scanner.skip_value();
        continue;
      }
      std::string_view member;
      for (bool first_key = true; scanner.next_member(member, first_key); first_key = false) {
        if (!scanner.null()) {
          tokens |= member == "input_tok_ids";
          scanner.skip_value();
        }
      }
    }
  }
  return tokens;
}

}  // namespace

std::unique_ptr<TraceReader> open_llmservingsim(LineReader&& lines, std::int64_t block_size) {
  const bool tokens = has_tokens(lines);
  return std::make_unique<LlmServingSimReader>(std::move(lines), block_size, tokens);
}

}  // namespace octavo::sim

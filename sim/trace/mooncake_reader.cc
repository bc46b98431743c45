// Mooncake JSONL and its relatives: one object a request, {"timestamp": ms, "input_length": tokens,
// "output_length": tokens, "hash_ids": [...]}, with an id for the partial tail too.
//
// The plain format demands these four. Dynamo's replay rows and AIPerf's mooncake_trace rows add
// sessions and waits (replay_schedule.h) and may lack some of the four: then the first row decides
// which, and all others must agree.

#include "decimal.h"
#include "json_scanner.h"
#include "replay_schedule.h"
#include "trace_fields.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

enum Field : unsigned {
  kTimestamp,
  kInputLength,
  kOutputLength,
  kHashIds,
  kOutputIds,
  kSession,
  kRequestId,
  kDelay,
  kPriority,
  kStrictPriority,
  kWaitFor,
  kToolWait,
  kText,
};

// Both priorities in one number: a higher strict one goes before all lower ones.
constexpr std::int64_t kPriorityMax = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kStrictStep = std::int64_t{1} << 32;

class MooncakeReader final : public TraceReader {
 public:
  MooncakeReader(LineReader&& lines,
                 TraceFormat format,
                 std::int64_t block_size,
                 const TraceTraits& traits)
      : TraceReader(lines.name(), format, block_size, traits),
        lines_(std::move(lines)),
        scanner_(name()) {}

  std::int64_t line() const noexcept override { return lines_.line(); }

 private:
  bool read(TraceRequest& request) override {
    std::string_view line;
    if (!lines_.next(line)) {
      return false;
    }
    request.clear();
    row_.clear();
    output_ids_ = 0;
    bool timed = false;  // By more than its timestamp.
    SeenFields seen;
    scanner_.start(line, lines_.line());
    for (std::string_view key; scanner_.next_key(key);) {
      if (take(key, seen, request)) {
        continue;
      }
      if (take_time(key, seen)) {
        timed = true;
      } else if (!take_rest(key, seen, request)) {
        scanner_.skip_value();
      }
    }
    check(seen, request);
    if (!timed && plain()) {
      schedule_.pass();
      request.arrival_ns = *row_.timestamp_ns;
    } else {
      schedule_.place(row_, traits().arrivals, scanner_, request);
    }
    return true;
  }

  // The fields that every file has. Returns false for another one, which is then unread.
  bool take(std::string_view key, SeenFields& seen, TraceRequest& request) {
    if (key == "timestamp" || key == "created_time") {
      if (add(key, seen, kTimestamp, !plain())) {
        row_.timestamp_ns = read_time_ns(scanner_, key, kMillisecondDigits);
      }
    } else if (key == "input_length" || key == "input_tokens") {
      if (add(key, seen, kInputLength, !plain())) {
        request.input_tokens = read_count(scanner_, key, 1);
      }
    } else if (key == "output_length" || key == "output_tokens") {
      if (add(key, seen, kOutputLength, !plain())) {
        request.output_tokens = read_count(scanner_, key, 0);
      }
    } else if (key == "hash_ids") {
      if (add(key, seen, kHashIds, !plain())) {
        read_ids(scanner_, key, request.block_ids);
      }
    } else {
      return false;
    }
    return true;
  }

  bool take_time(std::string_view key, SeenFields& seen) {
    if (key == "session_id") {
      row_.has_session = add(key, seen, kSession);
      if (row_.has_session) {
        row_.session = read_name(scanner_, "session_id");
      }
    } else if (key == "request_id") {
      row_.has_request_id = add(key, seen, kRequestId);
      if (row_.has_request_id) {
        row_.request_id = read_name(scanner_, "request_id");
      }
    } else if (key == "delay" || key == "delay_ms") {
      if (add(key, seen, kDelay)) {
        row_.delay_ns = read_time_ns(scanner_, key, kMillisecondDigits);
      }
    } else if (key == "tool_wait_ms") {
      if (add(key, seen, kToolWait)) {
        row_.tool_wait_ns = read_time_ns(scanner_, key, kMillisecondDigits);
      }
    } else if (key == "wait_for") {
      if (add(key, seen, kWaitFor)) {
        read_waits();
      }
    } else {
      return false;
    }
    return true;
  }

  bool take_rest(std::string_view key, SeenFields& seen, TraceRequest& request) {
    if (key == "priority") {
      if (add(key, seen, kPriority)) {
        request.priority += read_priority("priority", -kPriorityMax - 1);
      }
    } else if (key == "strict_priority") {
      if (add(key, seen, kStrictPriority)) {
        request.priority += read_priority("strict_priority", 0) * kStrictStep;
      }
    } else if (key == "output_token_ids" && !plain()) {
      if (add(key, seen, kOutputIds)) {
        count_output_ids();
      }
    } else if ((key == "text_input" || key == "messages") && !plain()) {
      seen.add(scanner_, kText, key);
      scanner_.skip_value();
    } else {
      return false;
    }
    return true;
  }

  // Marks a field as seen; false when it is a null, which then stands for its absence.
  bool add(std::string_view key, SeenFields& seen, Field field, bool may_be_null = true) {
    if (may_be_null && scanner_.null()) {
      return false;
    }
    seen.add(scanner_, field, key);
    return true;
  }

  void read_waits() {
    if (!scanner_.enter_array()) {
      scanner_.refuse("wait_for",
                      "is " + scanner_.describe_value() + ", expected an array of names");
    }
    for (bool first = true; scanner_.next_element(first); first = false) {
      row_.add_wait(read_name(scanner_, "wait_for"));
    }
  }

  void count_output_ids() {
    if (!scanner_.enter_array()) {
      scanner_.refuse("output_token_ids",
                      "is " + scanner_.describe_value() + ", expected an array of integers");
    }
    for (bool first = true; scanner_.next_element(first); first = false) {
      read_id(scanner_, "output_token_ids");
      ++output_ids_;
    }
  }

  std::int64_t read_priority(std::string_view field, std::int64_t min) {
    const std::int64_t value = read_signed(scanner_, field);
    if (value < min || value > kPriorityMax) {
      scanner_.refuse(field, "is out of range (" + std::to_string(value) +
                                 "), expected an integer in [" + std::to_string(min) + ", " +
                                 std::to_string(kPriorityMax) + "]");
    }
    return value;
  }

  void check(const SeenFields& seen, TraceRequest& request) {
    const bool strict = plain();
    if (strict) {
      seen.require(scanner_, kTimestamp, "timestamp", "milliseconds");
    } else if (!seen.has(kInputLength) && seen.has(kText)) {
      scanner_.refuse(
          "input_length",
          "missing in a row of text, expected a number of tokens: only the tokenizer of "
          "its model could count them");
    }
    seen.require(scanner_, kInputLength, "input_length", "a number of tokens");
    if (strict || traits().outputs) {
      if (!seen.has(kOutputLength) && seen.has(kOutputIds)) {
        request.output_tokens = output_ids_;
      } else {
        seen.require(scanner_, kOutputLength, "output_length", "a number of tokens");
      }
    } else if (seen.has(kOutputLength) || seen.has(kOutputIds)) {
      scanner_.refuse("output_length", "is there, expected none as in the first row");
    }
    if (traits().prefix_ids) {
      seen.require(scanner_, kHashIds, "hash_ids", "an array of integers");
      check_id_count(scanner_, "hash_ids", "input_length", request.block_ids.size(),
                     request.input_tokens, block_size());
    } else if (!request.block_ids.empty()) {
      scanner_.refuse("hash_ids", "has " + std::to_string(request.block_ids.size()) +
                                      " ids, expected none as in the first row");
    }
  }

  bool plain() const noexcept { return format() == TraceFormat::Mooncake; }

  LineReader lines_;
  JsonScanner scanner_;
  ReplayRow row_;
  ReplaySchedule schedule_;
  std::int64_t output_ids_ = 0;
};

// What the first row has, all rows must have.
TraceTraits traits_of_first_row(LineReader& lines) {
  TraceTraits traits{.prefix_ids = false, .arrivals = false, .outputs = false};
  std::string_view line;
  lines.next(line);
  JsonScanner scanner(lines.name());
  scanner.start(line, lines.line());
  for (std::string_view key; scanner.next_key(key);) {
    if (scanner.null()) {
      continue;
    }
    traits.arrivals |= key == "timestamp" || key == "created_time";
    traits.outputs |= key == "output_length" || key == "output_tokens" || key == "output_token_ids";
    if (key == "hash_ids" && scanner.enter_array()) {
      for (bool first = true; scanner.next_element(first); first = false) {
        traits.prefix_ids = true;
        scanner.skip_value();
      }
    } else {
      scanner.skip_value();
    }
  }
  lines.unread();
  return traits;
}

}  // namespace

std::unique_ptr<TraceReader> open_mooncake(LineReader&& lines,
                                           TraceFormat format,
                                           std::int64_t block_size) {
  const TraceTraits traits =
      format == TraceFormat::Mooncake ? TraceTraits{} : traits_of_first_row(lines);
  return std::make_unique<MooncakeReader>(std::move(lines), format, block_size, traits);
}

}  // namespace octavo::sim

// dynamo.request.trace.v1 JSONL: the log of a serving engine. Lines are in the order in which
// requests ended; they are handed out in that of their arrival, so that the whole file is in
// memory: 8 bytes an id and about 250 a request.

#include <algorithm>
#include <limits>
#include <vector>

#include "decimal.h"
#include "json_scanner.h"
#include "name_table.h"
#include "octavo/sim/input_error.h"
#include "trace_fields.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

enum Field : unsigned {
  kInput,
  kOutput,
  kReceived,
  kCached,
  kTtft,
  kTotal,
  kWorker,
  kReplay,
  kBlockSize,
  kLength,
  kHashes,
  kWorkerId,
  kWorkerRank,
  kEventType,
  kRequest,
  kContext,
  kSession,
  kParent,
  kEvent,
};

struct Record {
  TraceRequest request;
  std::int64_t line = 0;
};

struct Log {
  std::vector<Record> records{};
  std::int64_t block_size = 0;  // 0 as long as no request has hashes.
  std::int64_t skipped = 0;
};

class Parser {
 public:
  Parser(LineReader& lines, std::int64_t block_size) : lines_(lines), scanner_(lines.name()) {
    log_.block_size = block_size;
  }

  Log parse() {
    std::string_view line;
    while (lines_.next(line)) {
      record_ = {};
      type_.clear();
      seen_ = {};
      scanner_.within("");
      scanner_.start(line, lines_.line());
      for (std::string_view key; scanner_.next_key(key);) {
        if (key == "event" && scanner_.enter_object()) {
          seen_.add(scanner_, kEvent, "event");
          members("event.", [this](std::string_view member) { take_event(member); });
        } else {
          take_event(key);
        }
      }
      end_line();
    }
    if (log_.records.empty()) {
      throw InputError(lines_.name(), 0, "", "has no request_end event, expected at least one");
    }
    std::stable_sort(log_.records.begin(), log_.records.end(),
                     [](const Record& a, const Record& b) {
                       return a.request.arrival_ns < b.request.arrival_ns;
                     });
    const std::int64_t start_ns = log_.records.front().request.arrival_ns;
    for (Record& record : log_.records) {
      record.request.arrival_ns -= start_ns;
    }
    return std::move(log_);
  }

 private:
  // Goes through the members of the object just entered; `take` reads or skips the value.
  template <typename Take>
  void members(const char* prefix, Take take) {
    const std::string outer = prefix_;
    prefix_ += prefix;
    scanner_.within(prefix_);
    std::string_view key;
    for (bool first = true; scanner_.next_member(key, first); first = false) {
      take(key);
    }
    prefix_ = outer;
    scanner_.within(prefix_);
  }

  void take_event(std::string_view key) {
    if (key == "event_type") {
      seen_.add(scanner_, kEventType, key);
      type_ = read_name(scanner_, "event_type");
    } else if (key == "request" && scanner_.enter_object()) {
      seen_.add(scanner_, kRequest, "request");
      members("request.", [this](std::string_view member) {
        if (!take_times(member) && !take_object(member)) {
          scanner_.skip_value();
        }
      });
    } else if (key == "agent_context" && scanner_.enter_object()) {
      seen_.add(scanner_, kContext, "agent_context");
      members("agent_context.", [this](std::string_view member) { take_context(member); });
    } else {
      scanner_.skip_value();
    }
  }

  void take_context(std::string_view key) {
    if (scanner_.null()) {
      return;
    }
    if (key == "session_id") {
      seen_.add(scanner_, kSession, key);
      record_.request.session = sessions_.number(read_name(scanner_, "session_id"));
    } else if (key == "parent_session_id") {
      seen_.add(scanner_, kParent, key);
      record_.request.parent_session = sessions_.number(read_name(scanner_, "parent_session_id"));
    } else {
      scanner_.skip_value();
    }
  }

  bool take_times(std::string_view key) {
    TraceRequest& request = record_.request;
    if (key == "input_tokens") {
      seen_.add(scanner_, kInput, key);
      request.input_tokens = read_count(scanner_, "input_tokens", 1);
    } else if (key == "output_tokens") {
      seen_.add(scanner_, kOutput, key);
      request.output_tokens = read_count(scanner_, "output_tokens", 0);
    } else if (key == "request_received_ms") {
      seen_.add(scanner_, kReceived, key);
      request.arrival_ns = read_time_ns(scanner_, "request_received_ms", kMillisecondDigits);
    } else if (scanner_.null()) {
      return true;
    } else if (key == "cached_tokens") {
      seen_.add(scanner_, kCached, key);
      request.cached_tokens = read_count(scanner_, "cached_tokens", 0);
    } else if (key == "ttft_ms") {
      seen_.add(scanner_, kTtft, key);
      request.ttft_ns = read_time_ns(scanner_, "ttft_ms", kMillisecondDigits);
    } else if (key == "total_time_ms") {
      seen_.add(scanner_, kTotal, key);
      request.service_ns = read_time_ns(scanner_, "total_time_ms", kMillisecondDigits);
    } else {
      return false;
    }
    return true;
  }

  bool take_object(std::string_view key) {
    if (key == "worker" && scanner_.enter_object()) {
      seen_.add(scanner_, kWorker, "worker");
      worker_.clear();
      rank_.clear();
      members("worker.", [this](std::string_view member) { take_worker(member); });
      if (!worker_.empty()) {
        record_.request.worker = workers_.number(worker_ + "/" + rank_);
      }
    } else if (key == "replay" && scanner_.enter_object()) {
      seen_.add(scanner_, kReplay, "replay");
      members("replay.", [this](std::string_view member) { take_replay(member); });
    } else {
      return false;
    }
    return true;
  }

  // The engine that computed the prompt keeps it; where the rest was decoded decides nothing.
  void take_worker(std::string_view key) {
    if (scanner_.null()) {
      return;
    }
    if (key == "prefill_worker_id") {
      seen_.add(scanner_, kWorkerId, key);
      worker_ = read_name(scanner_, "prefill_worker_id");
    } else if (key == "prefill_dp_rank") {
      seen_.add(scanner_, kWorkerRank, key);
      rank_ = read_name(scanner_, "prefill_dp_rank");
    } else {
      scanner_.skip_value();
    }
  }

  void take_replay(std::string_view key) {
    if (key == "trace_block_size") {
      seen_.add(scanner_, kBlockSize, key);
      const std::int64_t size = read_count(scanner_, "trace_block_size", 1);
      if (size > kTraceBlockMax || (log_.block_size != 0 && size != log_.block_size)) {
        scanner_.refuse("trace_block_size",
                        "is " + std::to_string(size) + ", expected " +
                            (log_.block_size == 0 ? "at most " + std::to_string(kTraceBlockMax)
                                                  : std::to_string(log_.block_size) +
                                                        " as asked for or in the requests above"));
      }
      log_.block_size = size;
    } else if (key == "input_length") {
      seen_.add(scanner_, kLength, key);
      length_ = read_count(scanner_, "input_length", 1);
    } else if (key == "input_sequence_hashes") {
      seen_.add(scanner_, kHashes, key);
      read_ids(scanner_, "input_sequence_hashes", record_.request.block_ids);
    } else {
      scanner_.skip_value();
    }
  }

  void end_line() {
    scanner_.within("");
    seen_.require(scanner_, kEventType, "event_type", "the kind of the event");
    if (type_ != "request_end") {
      ++log_.skipped;
      return;
    }
    seen_.require(scanner_, kRequest, "request", "an object");
    scanner_.within("request.");
    seen_.require(scanner_, kInput, "input_tokens", "a number of tokens");
    seen_.require(scanner_, kOutput, "output_tokens", "a number of tokens");
    seen_.require(scanner_, kReceived, "request_received_ms", "milliseconds");
    if (log_.records.empty()) {
      has_hashes_ = seen_.has(kReplay);
    } else if (has_hashes_ != seen_.has(kReplay)) {
      scanner_.refuse("replay", has_hashes_ ? "missing, expected hashes as in the requests above"
                                            : "is there, expected none as in the requests above");
    }
    if (has_hashes_) {
      scanner_.within("request.replay.");
      seen_.require(scanner_, kBlockSize, "trace_block_size", "the tokens a hash stands for");
      seen_.require(scanner_, kHashes, "input_sequence_hashes", "an array of integers");
      if (seen_.has(kLength) && length_ != record_.request.input_tokens) {
        scanner_.refuse("input_length", "is " + std::to_string(length_) + ", expected " +
                                            std::to_string(record_.request.input_tokens) +
                                            " as in input_tokens");
      }
      check_id_count(scanner_, "input_sequence_hashes", "input_tokens",
                     record_.request.block_ids.size(), record_.request.input_tokens,
                     log_.block_size);
    }
    record_.line = lines_.line();
    log_.records.push_back(std::move(record_));
  }

  LineReader& lines_;
  JsonScanner scanner_;
  std::string prefix_;
  Log log_;
  NameTable sessions_;
  NameTable workers_;
  bool has_hashes_ = false;

  // Of the line at hand.
  Record record_;
  SeenFields seen_;
  std::string type_;
  std::string worker_;
  std::string rank_;
  std::int64_t length_ = 0;
};

class DynamoTraceReader final : public TraceReader {
 public:
  DynamoTraceReader(std::string name, Log&& log)
      : TraceReader(std::move(name),
                    TraceFormat::DynamoTrace,
                    std::max<std::int64_t>(log.block_size, 1),
                    {.prefix_ids = !log.records.front().request.block_ids.empty()}),
        log_(std::move(log)) {}

  std::int64_t line() const noexcept override { return line_; }
  std::int64_t skipped() const noexcept override { return log_.skipped; }

 private:
  bool read(TraceRequest& request) override {
    if (at_ == log_.records.size()) {
      return false;
    }
    line_ = log_.records[at_].line;
    request = std::move(log_.records[at_].request);
    ++at_;
    return true;
  }

  Log log_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_dynamo_trace(LineReader&& lines, std::int64_t block_size) {
  Log log = Parser(lines, block_size).parse();
  return std::make_unique<DynamoTraceReader>(lines.name(), std::move(log));
}

}  // namespace octavo::sim

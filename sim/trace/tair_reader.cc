// Tair KVCache's neutral schema, JSONL: reads and writes of a cache, with the prefix keys of whole
// blocks as signed 64-bit numbers. The reads are the requests; writes are passed over and counted.

#include <optional>

#include "json_scanner.h"
#include "name_table.h"
#include "octavo/sim/input_error.h"
#include "trace_fields.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

enum Field : unsigned { kInstance, kTimestamp, kKeys, kQuery, kInputLength, kOutputLength };

constexpr int kMicrosecondDigits = 3;

struct Row {
  SeenFields seen{};
  TraceRequest request{};
  std::string instance{};

  bool is_read() const { return seen.has(kQuery) || seen.has(kInputLength); }
};

void read_row(JsonScanner& scanner, Row& row) {
  row.seen = {};
  row.request.clear();
  for (std::string_view key; scanner.next_key(key);) {
    if (scanner.null()) {
      continue;
    }
    if (key == "instance_id") {
      row.seen.add(scanner, kInstance, key);
      row.instance = read_name(scanner, "instance_id");
    } else if (key == "timestamp_us") {
      row.seen.add(scanner, kTimestamp, key);
      row.request.arrival_ns = read_time_ns(scanner, "timestamp_us", kMicrosecondDigits);
    } else if (key == "keys") {
      row.seen.add(scanner, kKeys, key);
      read_signed_ids(scanner, "keys", row.request.block_ids);
    } else if (key == "query_type") {
      row.seen.add(scanner, kQuery, key);
      read_name(scanner, "query_type");
    } else if (key == "input_len") {
      row.seen.add(scanner, kInputLength, key);
      row.request.input_tokens = read_count(scanner, "input_len", 1);
    } else if (key == "output_len") {
      row.seen.add(scanner, kOutputLength, key);
      row.request.output_tokens = read_count(scanner, "output_len", 0);
    } else {
      scanner.skip_value();
    }
  }
}

// Takes memory for each distinct instance.
class TairReader final : public TraceReader {
 public:
  TairReader(LineReader&& lines, std::int64_t block_size, bool outputs, std::int64_t skipped)
      : TraceReader(lines.name(),
                    TraceFormat::Tair,
                    block_size,
                    {.tail_has_id = false, .outputs = outputs}),
        lines_(std::move(lines)),
        scanner_(name()),
        skipped_(skipped) {}

  std::int64_t line() const noexcept override { return lines_.line(); }
  std::int64_t skipped() const noexcept override { return skipped_; }

 private:
  bool read(TraceRequest& request) override {
    for (std::string_view line; lines_.next(line); ++skipped_) {
      scanner_.start(line, lines_.line());
      read_row(scanner_, row_);
      if (row_.is_read()) {
        check();
        std::swap(request, row_.request);
        return true;
      }
    }
    return false;
  }

  void check() {
    TraceRequest& request = row_.request;
    row_.seen.require(scanner_, kTimestamp, "timestamp_us", "microseconds");
    row_.seen.require(scanner_, kKeys, "keys", "an array of integers");
    if (!row_.seen.has(kInputLength)) {
      // A read of whole blocks, the only length that such a record has.
      const auto keys = static_cast<std::int64_t>(request.block_ids.size());
      if (keys == 0) {
        scanner_.refuse("input_len", "missing in a read without keys, expected a number of tokens");
      }
      request.input_tokens = keys * block_size();
    }
    if (traits().outputs != row_.seen.has(kOutputLength)) {
      scanner_.refuse("output_len",
                      traits().outputs ? "missing, expected a number of tokens as in the first read"
                                       : "is there, expected none as in the first read");
    }
    check_id_count(scanner_, "keys", "input_len", request.block_ids.size(), request.input_tokens,
                   block_size(), /*tail_has_id=*/false);
    if (row_.seen.has(kInstance)) {
      request.worker = instances_.number(row_.instance);
    }
    if (!start_ns_) {
      start_ns_ = request.arrival_ns;
    }
    if (request.arrival_ns < *start_ns_) {
      scanner_.refuse("timestamp_us", "is before that of the first read, expected none before it");
    }
    request.arrival_ns -= *start_ns_;
  }

  LineReader lines_;
  JsonScanner scanner_;
  Row row_;
  NameTable instances_;
  std::int64_t skipped_;
  std::optional<std::int64_t> start_ns_;  // The first read's.
};

}  // namespace

std::unique_ptr<TraceReader> open_tair(LineReader&& lines, std::int64_t block_size) {
  JsonScanner scanner(lines.name());
  Row row;
  std::int64_t skipped = 0;
  for (std::string_view line; lines.next(line); ++skipped) {
    scanner.start(line, lines.line());
    read_row(scanner, row);
    if (row.is_read()) {
      lines.unread();
      return std::make_unique<TairReader>(std::move(lines), block_size, row.seen.has(kOutputLength),
                                          skipped);
    }
  }
  throw InputError(lines.name(), 0, "query_type",
                   "is in no record, expected at least one read of the cache");
}

}  // namespace octavo::sim

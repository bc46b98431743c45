// Mooncake JSONL: one object a request, {"timestamp": ms, "input_length": tokens,
// "output_length": tokens, "hash_ids": [...]}, with an id for the partial tail too.

#include "json_scanner.h"
#include "trace_fields.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

enum Field : unsigned { kTimestamp, kInputLength, kOutputLength, kHashIds };

constexpr int kMillisecondDigits = 6;

class MooncakeReader final : public TraceReader {
 public:
  MooncakeReader(LineReader&& lines, std::int64_t block_size)
      : TraceReader(lines.name(), TraceFormat::Mooncake, block_size),
        lines_(std::move(lines)),
        scanner_(name()) {}

  std::int64_t line() const noexcept override { return lines_.line(); }

 private:
  bool read(TraceRequest& request) override {
    std::string_view line;
    if (!lines_.next(line)) {
      return false;
    }
    request.session.reset();
    SeenFields seen;
    scanner_.start(line, lines_.line());
    for (std::string_view key; scanner_.next_key(key);) {
      if (key == "timestamp") {
        seen.add(scanner_, kTimestamp, key);
        request.arrival_ns = read_time_ns(scanner_, "timestamp", kMillisecondDigits);
      } else if (key == "input_length") {
        seen.add(scanner_, kInputLength, key);
        request.input_tokens = read_count(scanner_, "input_length", 1);
      } else if (key == "output_length") {
        seen.add(scanner_, kOutputLength, key);
        request.output_tokens = read_count(scanner_, "output_length", 0);
      } else if (key == "hash_ids") {
        seen.add(scanner_, kHashIds, key);
        read_ids(scanner_, "hash_ids", request.block_ids);
      } else {
        scanner_.skip_value();
      }
    }
    seen.require(scanner_, kTimestamp, "timestamp", "milliseconds");
    seen.require(scanner_, kInputLength, "input_length", "a number of tokens");
    seen.require(scanner_, kOutputLength, "output_length", "a number of tokens");
    seen.require(scanner_, kHashIds, "hash_ids", "an array of integers");
    check_id_count(scanner_, "hash_ids", "input_length", request.block_ids.size(),
                   request.input_tokens, block_size());
    return true;
  }

  LineReader lines_;
  JsonScanner scanner_;
};

}  // namespace

std::unique_ptr<TraceReader> open_mooncake(LineReader&& lines, std::int64_t block_size) {
  return std::make_unique<MooncakeReader>(std::move(lines), block_size);
}

}  // namespace octavo::sim

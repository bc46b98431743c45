// Octavo's own JSONL: a header object, then one object a request (traces/FORMAT.md).

#include <string>

#include "json_scanner.h"
#include "octavo/sim/input_error.h"
#include "trace_fields.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kVersion = 1;

enum Field : unsigned { kTime, kInputTokens, kOutputTokens, kBlockIds, kSession, kDelay };
enum HeaderField : unsigned { kMark, kBlockSize };

class OctavoReader final : public TraceReader {
 public:
  OctavoReader(LineReader&& lines, std::int64_t block_size)
      : TraceReader(lines.name(), TraceFormat::Octavo, block_size),
        lines_(std::move(lines)),
        scanner_(name()) {}

  std::int64_t line() const noexcept override { return lines_.line(); }

 private:
  bool read(TraceRequest& request) override {
    std::string_view line;
    if (!lines_.next(line)) {
      if (!any_) {
        throw InputError(name(), lines_.line(), "", "only a header, expected requests behind it");
      }
      return false;
    }
    any_ = true;
    request.session.reset();
    request.delay_ns.reset();
    SeenFields seen;
    scanner_.start(line, lines_.line());
    for (std::string_view key; scanner_.next_key(key);) {
      take(key, seen, request);
    }
    seen.require(scanner_, kTime, "time_ns", "nanoseconds");
    seen.require(scanner_, kInputTokens, "input_tokens", "a number of tokens");
    seen.require(scanner_, kOutputTokens, "output_tokens", "a number of tokens");
    seen.require(scanner_, kBlockIds, "block_ids", "an array of integers");
    check_id_count(scanner_, "block_ids", "input_tokens", request.block_ids.size(),
                   request.input_tokens, block_size());
    return true;
  }

  void take(std::string_view key, SeenFields& seen, TraceRequest& request) {
    if (key == "time_ns") {
      seen.add(scanner_, kTime, key);
      request.arrival_ns = read_count(scanner_, "time_ns", 0);
    } else if (key == "input_tokens") {
      seen.add(scanner_, kInputTokens, key);
      request.input_tokens = read_count(scanner_, "input_tokens", 1);
    } else if (key == "output_tokens") {
      seen.add(scanner_, kOutputTokens, key);
      request.output_tokens = read_count(scanner_, "output_tokens", 0);
    } else if (key == "block_ids") {
      seen.add(scanner_, kBlockIds, key);
      read_ids(scanner_, "block_ids", request.block_ids);
    } else if (key == "session") {
      seen.add(scanner_, kSession, key);
      request.session = read_id(scanner_, "session");
    } else if (key == "delay_ns") {
      seen.add(scanner_, kDelay, key);
      request.delay_ns = read_count(scanner_, "delay_ns", 0);
    } else if (key == "octavo_trace") {
      scanner_.refuse(key,
                      "a second header, expected a request (files cannot be joined end to end)");
    } else {
      scanner_.skip_value();
    }
  }

  LineReader lines_;
  JsonScanner scanner_;
  bool any_ = false;
};

std::int64_t read_header(LineReader& lines) {
  std::string_view line;
  lines.next(line);
  JsonScanner scanner(lines.name());
  scanner.start(line, lines.line());
  SeenFields seen;
  std::int64_t block_size = 0;
  for (std::string_view key; scanner.next_key(key);) {
    if (key == "octavo_trace") {
      seen.add(scanner, kMark, key);
      const std::int64_t version = read_count(scanner, "octavo_trace", 0);
      if (version != kVersion) {
        scanner.refuse("octavo_trace",
                       "is version " + std::to_string(version) + ", expected version 1");
      }
    } else if (key == "block_size") {
      seen.add(scanner, kBlockSize, key);
      block_size = read_count(scanner, "block_size", 1);
      if (block_size > kTraceBlockMax) {
        scanner.refuse("block_size", "is out of range (" + std::to_string(block_size) +
                                         "), expected an integer in [1, " +
                                         std::to_string(kTraceBlockMax) + "]");
      }
    } else {
      scanner.skip_value();
    }
  }
  seen.require(scanner, kMark, "octavo_trace", "the header of an Octavo trace");
  seen.require(scanner, kBlockSize, "block_size", "the number of tokens an id stands for");
  return block_size;
}

}  // namespace

std::unique_ptr<TraceReader> open_octavo(LineReader&& lines, std::int64_t block_size) {
  const std::int64_t written = read_header(lines);
  if (block_size != 0 && block_size != written) {
    throw InputError(lines.name(), lines.line(), "block_size",
                     "is " + std::to_string(written) + ", expected the trace block asked for, " +
                         std::to_string(block_size));
  }
  return std::make_unique<OctavoReader>(std::move(lines), written);
}

}  // namespace octavo::sim

// Octavo's own JSONL: a header object, then one object a request (traces/FORMAT.md).

#include <string>

#include "json_scanner.h"
#include "octavo/sim/input_error.h"
#include "trace_fields.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kVersion = 1;

enum Field : unsigned {
  kTime,
  kInputTokens,
  kOutputTokens,
  kBlockIds,
  kSession,
  kParentSession,
  kDelay,
  kWaitFor,
  kPriority,
  kMedia,
  kCachedTokens,
  kWorker,
  kTtft,
  kService,
};
enum HeaderField : unsigned { kMark, kBlockSize, kPrefixIds, kTailIds, kArrivals, kOutputs };

struct Header {
  std::int64_t block_size = 0;
  TraceTraits traits{};
};

class OctavoReader final : public TraceReader {
 public:
  OctavoReader(LineReader&& lines, const Header& header)
      : TraceReader(lines.name(), TraceFormat::Octavo, header.block_size, header.traits),
        lines_(std::move(lines)),
        scanner_(name()) {}

  std::int64_t line() const noexcept override { return lines_.line(); }

 private:
  bool read(TraceRequest& request) override {
    std::string_view line;
    if (!lines_.next(line)) {
      if (requests_ == 0) {
        throw InputError(name(), lines_.line(), "", "only a header, expected requests behind it");
      }
      return false;
    }
    request.clear();
    SeenFields seen;
    scanner_.start(line, lines_.line());
    for (std::string_view key; scanner_.next_key(key);) {
      if (!take(key, seen, request) && !take_rest(key, seen, request)) {
        scanner_.skip_value();
      }
    }
    check_known(seen, kTime, "time_ns", "nanoseconds", traits().arrivals);
    seen.require(scanner_, kInputTokens, "input_tokens", "a number of tokens");
    check_known(seen, kOutputTokens, "output_tokens", "a number of tokens", traits().outputs);
    check_known(seen, kBlockIds, "block_ids", "an array of integers", traits().prefix_ids);
    if (traits().prefix_ids) {
      check_id_count(scanner_, "block_ids", "input_tokens", request.block_ids.size(),
                     request.input_tokens, block_size(), traits().tail_has_id);
    }
    ++requests_;
    return true;
  }

  bool take(std::string_view key, SeenFields& seen, TraceRequest& request) {
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
    } else if (key == "octavo_trace") {
      scanner_.refuse(key,
                      "a second header, expected a request (files cannot be joined end to end)");
    } else {
      return false;
    }
    return true;
  }

  bool take_rest(std::string_view key, SeenFields& seen, TraceRequest& request) {
    if (key == "parent_session") {
      seen.add(scanner_, kParentSession, key);
      request.parent_session = read_id(scanner_, "parent_session");
    } else if (key == "delay_ns") {
      seen.add(scanner_, kDelay, key);
      request.delay_ns = read_count(scanner_, "delay_ns", 0);
    } else if (key == "wait_for") {
      seen.add(scanner_, kWaitFor, key);
      read_waits(request.wait_for);
    } else if (key == "priority") {
      seen.add(scanner_, kPriority, key);
      request.priority = read_signed(scanner_, "priority");
    } else if (key == "media") {
      seen.add(scanner_, kMedia, key);
      request.media = read_count(scanner_, "media", 0);
    } else if (key == "cached_tokens") {
      seen.add(scanner_, kCachedTokens, key);
      request.cached_tokens = read_count(scanner_, "cached_tokens", 0);
    } else if (key == "worker") {
      seen.add(scanner_, kWorker, key);
      request.worker = read_id(scanner_, "worker");
    } else if (key == "ttft_ns") {
      seen.add(scanner_, kTtft, key);
      request.ttft_ns = read_count(scanner_, "ttft_ns", 0);
    } else if (key == "service_ns") {
      seen.add(scanner_, kService, key);
      request.service_ns = read_count(scanner_, "service_ns", 0);
    } else {
      return false;
    }
    return true;
  }

  void read_waits(std::vector<std::int64_t>& wait_for) {
    if (!scanner_.enter_array()) {
      scanner_.refuse("wait_for",
                      "is " + scanner_.describe_value() + ", expected an array of integers");
    }
    for (bool first = true; scanner_.next_element(first); first = false) {
      const std::int64_t index = read_count(scanner_, "wait_for", 0);
      if (index >= requests_) {
        scanner_.refuse("wait_for", "is no request above (" + std::to_string(index) +
                                        "), expected numbers below " + std::to_string(requests_));
      }
      wait_for.push_back(index);
    }
  }

  void check_known(
      const SeenFields& seen, Field field, std::string_view name, const char* what, bool known) {
    if (known) {
      seen.require(scanner_, field, name, what);
    } else if (seen.has(field)) {
      scanner_.refuse(name, "is there, expected none: the header says that it is not known");
    }
  }

  LineReader lines_;
  JsonScanner scanner_;
  std::int64_t requests_ = 0;
};

class HeaderParser {
 public:
  explicit HeaderParser(LineReader& lines) : scanner_(lines.name()) {
    std::string_view line;
    lines.next(line);
    scanner_.start(line, lines.line());
  }

  Header parse() {
    for (std::string_view key; scanner_.next_key(key);) {
      if (key == "octavo_trace") {
        seen_.add(scanner_, kMark, key);
        read_version();
      } else if (key == "block_size") {
        seen_.add(scanner_, kBlockSize, key);
        read_block_size();
      } else if (key == "prefix_ids") {
        read_flag(kPrefixIds, key, header_.traits.prefix_ids);
      } else if (key == "tail_ids") {
        read_flag(kTailIds, key, header_.traits.tail_has_id);
      } else if (key == "arrivals") {
        read_flag(kArrivals, key, header_.traits.arrivals);
      } else if (key == "outputs") {
        read_flag(kOutputs, key, header_.traits.outputs);
      } else {
        scanner_.skip_value();
      }
    }
    seen_.require(scanner_, kMark, "octavo_trace", "the header of an Octavo trace");
    seen_.require(scanner_, kBlockSize, "block_size", "the number of tokens an id stands for");
    return header_;
  }

 private:
  void read_version() {
    const std::int64_t version = read_count(scanner_, "octavo_trace", 0);
    if (version != kVersion) {
      scanner_.refuse("octavo_trace",
                      "is version " + std::to_string(version) + ", expected version 1");
    }
  }

  void read_block_size() {
    header_.block_size = read_count(scanner_, "block_size", 1);
    if (header_.block_size > kTraceBlockMax) {
      scanner_.refuse("block_size", "is out of range (" + std::to_string(header_.block_size) +
                                        "), expected an integer in [1, " +
                                        std::to_string(kTraceBlockMax) + "]");
    }
  }

  void read_flag(HeaderField field, std::string_view key, bool& flag) {
    seen_.add(scanner_, field, key);
    if (!scanner_.boolean(flag)) {
      scanner_.refuse(key, "is " + scanner_.describe_value() + ", expected true or false");
    }
  }

  JsonScanner scanner_;
  SeenFields seen_;
  Header header_;
};

}  // namespace

std::unique_ptr<TraceReader> open_octavo(LineReader&& lines, std::int64_t block_size) {
  const Header header = HeaderParser(lines).parse();
  if (block_size != 0 && block_size != header.block_size) {
    throw InputError(lines.name(), lines.line(), "block_size",
                     "is " + std::to_string(header.block_size) +
                         ", expected the trace block asked for, " + std::to_string(block_size));
  }
  return std::make_unique<OctavoReader>(std::move(lines), header);
}

}  // namespace octavo::sim

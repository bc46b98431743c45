#include "octavo/sim/trace.h"

#include "json_scanner.h"
#include "line_reader.h"
#include "octavo/sim/input_error.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

// Tells the format from the keys of the first line.
TraceFormat detect(LineReader& lines, std::string_view line) {
  JsonScanner scanner(lines.name());
  scanner.start(line, lines.line());
  bool octavo = false;
  bool mooncake = false;
  for (std::string_view key; scanner.next_key(key); scanner.skip_value()) {
    octavo |= key == "octavo_trace";
    mooncake |= key == "timestamp" || key == "input_length" || key == "hash_ids";
    if (key == "chat_id" || key == "parent_chat_id") {
      // The same field names, but seconds, 16 tokens, and ids of single blocks instead of prefixes.
      scanner.refuse(key, "belongs to a Qwen-Bailian trace, expected a Mooncake or Octavo trace");
    }
  }
  if (!octavo && !mooncake) {
    scanner.refuse("",
                   "no format is known that starts with such an object, expected the header of "
                   "an Octavo trace or a Mooncake request");
  }
  return octavo ? TraceFormat::Octavo : TraceFormat::Mooncake;
}

}  // namespace

std::unique_ptr<TraceReader> open_trace(const std::string& path, const TraceOptions& options) {
  if (options.trace_block < 0 || options.trace_block > kTraceBlockMax) {
    throw Error(ErrorCode::InvalidArgument,
                "open_trace: trace_block " + std::to_string(options.trace_block) +
                    " is outside [0, " + std::to_string(kTraceBlockMax) + "]");
  }
  LineReader lines(path);
  std::string_view first;
  if (!lines.next(first)) {
    throw InputError(lines.name(), 0, "", "is empty, expected a trace");
  }
  if (first.substr(0, 2) == "\x1f\x8b" || first.substr(0, 4) == "\x28\xb5\x2f\xfd") {
    throw InputError(lines.name(), 0, "",
                     "is compressed, expected JSON lines: decompress it first");
  }
  const TraceFormat format =
      options.format == TraceFormat::Auto ? detect(lines, first) : options.format;
  lines.unread();
  if (format == TraceFormat::Octavo) {
    return open_octavo(std::move(lines), options.trace_block);
  }
  return open_mooncake(std::move(lines),
                       options.trace_block == 0 ? kMooncakeTraceBlock : options.trace_block);
}

}  // namespace octavo::sim

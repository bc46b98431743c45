// Opening a trace: which reader, with which block size.
#include "octavo/sim/trace.h"

#include <filesystem>
#include <system_error>

#include "line_reader.h"
#include "octavo/sim/input_error.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kSmallTraceBlock = 16;

std::unique_ptr<TraceReader> open_folder(const std::string& path, const TraceOptions& options) {
  if (options.format != TraceFormat::Auto && options.format != TraceFormat::Weka) {
    throw InputError(path, 0, "", "is a directory, expected a trace file");
  }
  return open_weka_folder(path, options.trace_block);
}

std::unique_ptr<TraceReader> open_lines(LineReader&& lines,
                                        TraceFormat format,
                                        std::int64_t trace_block) {
  const auto block_or = [&](std::int64_t block) { return trace_block == 0 ? block : trace_block; };
  switch (format) {
    case TraceFormat::Auto:  // Not left over by now.
    case TraceFormat::Mooncake:
    case TraceFormat::Dynamo:
    case TraceFormat::Aiperf:
      return open_mooncake(std::move(lines), format, block_or(kMooncakeTraceBlock));
    case TraceFormat::Bailian:
      return open_bailian(std::move(lines), block_or(kSmallTraceBlock));
    case TraceFormat::Azure:
    case TraceFormat::BurstGpt:
    case TraceFormat::Vidur:
    case TraceFormat::Splitwise:
      return open_csv(std::move(lines), format);
    case TraceFormat::Weka:
      return open_weka(std::move(lines), trace_block);
    case TraceFormat::DynamoTrace:
      return open_dynamo_trace(std::move(lines), trace_block);
    case TraceFormat::LlmServingSim:
      return open_llmservingsim(std::move(lines), block_or(kSmallTraceBlock));
    case TraceFormat::Tair:
      return open_tair(std::move(lines), block_or(kSmallTraceBlock));
    case TraceFormat::Octavo:
      break;
  }
  return open_octavo(std::move(lines), trace_block);
}

std::unique_ptr<TraceReader> open_file(const std::string& path, const TraceOptions& options) {
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_directory(path, ignored)) {
    return open_folder(path, options);
  }
  LineReader lines(path);
  std::string_view first;
  if (!lines.next(first)) {
    throw InputError(lines.name(), 0, "", "is empty, expected a trace");
  }
  lines.unread();
  const TraceFormat format =
      options.format == TraceFormat::Auto ? detect_format(lines) : options.format;
  return open_lines(std::move(lines), format, options.trace_block);
}

}  // namespace

std::unique_ptr<TraceReader> open_trace(const std::string& path, const TraceOptions& options) {
  if (options.trace_block < 0 || options.trace_block > kTraceBlockMax) {
    throw Error(ErrorCode::InvalidArgument,
                "open_trace: trace_block " + std::to_string(options.trace_block) +
                    " is outside [0, " + std::to_string(kTraceBlockMax) + "]");
  }
  std::unique_ptr<TraceReader> reader = open_file(path, options);
  if (options.trace_block != 0 && !reader->traits().prefix_ids) {
    throw InputError(reader->name(), 0, "",
                     "names no blocks, so that a trace block of " +
                         std::to_string(options.trace_block) +
                         " tokens says nothing, expected none to be asked for");
  }
  return options.unique_tails ? with_unique_tails(std::move(reader)) : std::move(reader);
}

}  // namespace octavo::sim

// The readers behind open_trace, one a family of formats. Each takes over a LineReader that stands
// before the first line that is not blank.
#pragma once

#include <memory>

#include "line_reader.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Tells the format from the first line that is not blank. Raises InputError when it is none that
/// is known.
TraceFormat detect_format(LineReader& lines);

/// Mooncake, Dynamo or Aiperf; `block_size` in [1, kTraceBlockMax].
std::unique_ptr<TraceReader> open_mooncake(LineReader&& lines,
                                           TraceFormat format,
                                           std::int64_t block_size);

std::unique_ptr<TraceReader> open_bailian(LineReader&& lines, std::int64_t block_size);

/// Azure, BurstGpt, Vidur or Splitwise.
std::unique_ptr<TraceReader> open_csv(LineReader&& lines, TraceFormat format);

/// LLMServingSim: token ids are hashed in blocks of that size.
std::unique_ptr<TraceReader> open_llmservingsim(LineReader&& lines, std::int64_t block_size);

std::unique_ptr<TraceReader> open_tair(LineReader&& lines, std::int64_t block_size);

// Formats that hold their block size. A `block_size` other than 0 must be that one.
std::unique_ptr<TraceReader> open_octavo(LineReader&& lines, std::int64_t block_size);
std::unique_ptr<TraceReader> open_dynamo_trace(LineReader&& lines, std::int64_t block_size);
std::unique_ptr<TraceReader> open_weka(LineReader&& lines, std::int64_t block_size);
std::unique_ptr<TraceReader> open_weka_folder(const std::string& folder, std::int64_t block_size);

/// Gives the tails of a trace that names whole blocks only ids of their own.
std::unique_ptr<TraceReader> with_unique_tails(std::unique_ptr<TraceReader> reader);

}  // namespace octavo::sim

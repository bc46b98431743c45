// Dates with a time of day, exactly.
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo::sim {

/// Reads `YYYY-MM-DD hh:mm:ss`, with 'T' or a blank between, perhaps a fraction of one to nine
/// digits, and perhaps a zone: 'Z', or `+hh:mm` or `-hh:mm`. Without a zone it is UTC. The result
/// is in nanoseconds since 1970 (UTC, leap seconds not counted). Returns false when the text is
/// anything else or the result exceeds 64 bits (years 1677 to 2262).
bool parse_datetime_ns(std::string_view text, std::int64_t& time_ns);

}  // namespace octavo::sim

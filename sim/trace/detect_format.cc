// Tells the format of a trace from its first line.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "csv_reader.h"
#include "json_scanner.h"
#include "octavo/sim/input_error.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

// A key, or a column, that only one format has.
struct Mark {
  std::string_view name;
  TraceFormat format;
};

// In this order: the first mark that is there decides. The names that Mooncake and its relatives
// share come last.
constexpr std::array<Mark, 35> kKeys{{
    {"octavo_trace", TraceFormat::Octavo},
    {"chat_id", TraceFormat::Bailian},
    {"parent_chat_id", TraceFormat::Bailian},
    {"requests", TraceFormat::Weka},
    {"hash_id_scope", TraceFormat::Weka},
    {"event", TraceFormat::DynamoTrace},
    {"event_type", TraceFormat::DynamoTrace},
    {"input_toks", TraceFormat::LlmServingSim},
    {"sub_requests", TraceFormat::LlmServingSim},
    {"timestamp_us", TraceFormat::Tair},
    {"text_input", TraceFormat::Aiperf},
    {"messages", TraceFormat::Aiperf},
    {"tools", TraceFormat::Aiperf},
    {"headers", TraceFormat::Aiperf},
    {"session_id", TraceFormat::Dynamo},
    {"request_id", TraceFormat::Dynamo},
    {"delay", TraceFormat::Dynamo},
    {"delay_ms", TraceFormat::Dynamo},
    {"input_tokens", TraceFormat::Dynamo},
    {"output_tokens", TraceFormat::Dynamo},
    {"created_time", TraceFormat::Dynamo},
    {"output_token_ids", TraceFormat::Dynamo},
    {"priority", TraceFormat::Dynamo},
    {"strict_priority", TraceFormat::Dynamo},
    {"policy_class", TraceFormat::Dynamo},
    {"request_kind", TraceFormat::Dynamo},
    {"wait_for", TraceFormat::Dynamo},
    {"branches", TraceFormat::Dynamo},
    {"prefix_reset", TraceFormat::Dynamo},
    {"tool_wait_ms", TraceFormat::Dynamo},
    {"tool_events", TraceFormat::Dynamo},
    {"input_length", TraceFormat::Mooncake},
    {"hash_ids", TraceFormat::Mooncake},
    {"output_length", TraceFormat::Mooncake},
    {"timestamp", TraceFormat::Mooncake},
}};

constexpr std::array<Mark, 4> kColumns{{
    {"ContextTokens", TraceFormat::Azure},
    {"Request tokens", TraceFormat::BurstGpt},
    {"num_prefill_tokens", TraceFormat::Vidur},
    {"prompt_size", TraceFormat::Splitwise},
}};

using Names = std::vector<std::string>;

bool holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The keys of an object that ends with the line.
Names keys_of(const LineReader& lines, std::string_view line) {
  Names keys;
  JsonScanner scanner(lines.name());
  scanner.start(line, lines.line());
  for (std::string_view key; scanner.next_key(key); scanner.skip_value()) {
    keys.emplace_back(key);
  }
  return keys;
}

// Whether an object that goes on behind its first line is a session of WEKA, as far as it has been
// read.
bool is_weka_document(LineReader& lines) {
  JsonScanner scanner(lines.name());
  try {
    scanner.start(lines.lookahead(), lines.line());
    for (std::string_view key; scanner.next_key(key); scanner.skip_value()) {
      if (key == "requests" || key == "hash_id_scope") {
        return true;
      }
    }
  } catch (const InputError&) {
    // What is wrong with it, its reader says better.
  }
  return false;
}

TraceFormat format_of_keys(const Names& keys, const LineReader& lines) {
  if (holds(keys, "input") && holds(keys, "output") && !holds(keys, "input_length")) {
    throw InputError(lines.name(), lines.line(), "input",
                     "is text, as in LMCache's agent traces, expected numbers of tokens: only the "
                     "tokenizer of its model could count them");
  }
  for (const Mark& mark : kKeys) {
    if (!holds(keys, mark.name)) {
      continue;
    }
    const bool complete = holds(keys, "timestamp") && holds(keys, "input_length") &&
                          holds(keys, "output_length") && holds(keys, "hash_ids");
    if (mark.format == TraceFormat::Mooncake && holds(keys, "input_length") && !complete) {
      return TraceFormat::Aiperf;  // Whose rows need not have all four.
    }
    return mark.format;
  }
  throw InputError(lines.name(), lines.line(), "",
                   "no format is known that starts with such an object, expected a trace of one of "
                   "the formats that --format names");
}

TraceFormat format_of_columns(LineReader& lines, std::string_view line) {
  for (const Mark& mark : kColumns) {
    if (line.find(mark.name) != std::string_view::npos) {
      return mark.format;
    }
  }
  throw InputError(lines.name(), lines.line(), "",
                   "no format is known that starts like this ('" + shown(line) +
                       "'), expected a JSON object or the header of a CSV trace");
}

}  // namespace

TraceFormat detect_format(LineReader& lines) {
  std::string_view line;
  lines.next(line);
  lines.unread();
  const std::size_t first = line.find_first_not_of(" \t");
  if (line[first] != '{') {
    return format_of_columns(lines, line);
  }
  Names keys;
  try {
    keys = keys_of(lines, line);
  } catch (const InputError&) {
    if (is_weka_document(lines)) {
      return TraceFormat::Weka;
    }
    throw;
  }
  return format_of_keys(keys, lines);
}

}  // namespace octavo::sim

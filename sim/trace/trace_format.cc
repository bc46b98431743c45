// Names of the trace formats, and what all requests and readers share.
#include "octavo/error.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {
namespace {

struct NamedFormat {
  TraceFormat format;
  std::string_view name;
};

constexpr NamedFormat kFormats[] = {
    {TraceFormat::Auto, "auto"},
    {TraceFormat::Mooncake, "mooncake"},
    {TraceFormat::Dynamo, "dynamo"},
    {TraceFormat::Aiperf, "aiperf"},
    {TraceFormat::Bailian, "bailian"},
    {TraceFormat::Azure, "azure"},
    {TraceFormat::BurstGpt, "burstgpt"},
    {TraceFormat::Vidur, "vidur"},
    {TraceFormat::Splitwise, "splitwise"},
    {TraceFormat::Weka, "weka"},
    {TraceFormat::DynamoTrace, "dynamo-trace"},
    {TraceFormat::LlmServingSim, "llmservingsim"},
    {TraceFormat::Tair, "tair"},
    {TraceFormat::Octavo, "octavo"},
};

}  // namespace

std::string_view to_string(TraceFormat format) noexcept {
  for (const NamedFormat& named : kFormats) {
    if (named.format == format) {
      return named.name;
    }
  }
  return "unknown";
}

std::vector<std::string> trace_format_names() {
  std::vector<std::string> names;
  for (const NamedFormat& named : kFormats) {
    names.emplace_back(named.name);
  }
  return names;
}

TraceFormat parse_trace_format(std::string_view name) {
  std::string known;
  for (const NamedFormat& named : kFormats) {
    if (named.name == name) {
      return named.format;
    }
    known += (known.empty() ? "" : ", ") + std::string(named.name);
  }
  throw Error(ErrorCode::InvalidArgument,
              "parse_trace_format: \"" + std::string(name) + "\" is none of " + known);
}

void TraceRequest::clear() noexcept {
  arrival_ns = 0;
  input_tokens = 0;
  output_tokens = 0;
  session.reset();
  block_ids.clear();
  delay_ns.reset();
  wait_for.clear();
  priority = 0;
  cached_tokens.reset();
  parent_session.reset();
  worker.reset();
  media = 0;
  ttft_ns.reset();
  service_ns.reset();
}

bool TraceReader::next(TraceRequest& request) {
  if (failure_ != nullptr) {
    std::rethrow_exception(failure_);
  }
  try {
    return read(request);
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

}  // namespace octavo::sim

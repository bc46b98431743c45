#include "octavo/sim/trace_stats.h"
#include <nlohmann/json.hpp>

namespace octavo::sim {
namespace {

using Json = nlohmann::ordered_json;

Json summary_json(const Summary& summary) {
  return {{"sum", summary.sum}, {"mean", summary.mean}, {"p50", summary.p50}, {"p90", summary.p90},
          {"p99", summary.p99}, {"min", summary.min},   {"max", summary.max}};
}

Json hits_json(const HitCount& count) {
  return {{"hits", count.hits}, {"total", count.total}, {"rate", count.rate()}};
}

}  // namespace

std::string to_json(const TraceStats& stats) {
  const IdealHits& ideal = stats.ideal;
  const Json json = {
      {"schema_version", 1},
      {"trace", stats.name},
      {"format", std::string(to_string(stats.format))},
      {"block_size", stats.block_size},
      {"requests", stats.requests},
      {"sessions", stats.sessions},
      {"first_arrival_ns", stats.first_arrival_ns},
      {"last_arrival_ns", stats.last_arrival_ns},
      {"duration_ns", stats.duration_ns()},
      {"distinct_arrivals", stats.distinct_arrivals},
      {"sorted", stats.sorted()},
      {"unsorted_requests", stats.unsorted_requests},
      {"input_tokens", summary_json(stats.input_tokens)},
      {"output_tokens", summary_json(stats.output_tokens)},
      {"blocks", summary_json(stats.blocks)},
      {"distinct_blocks", stats.distinct_blocks},
      {"blocks_used_once", stats.blocks_used_once},
      {"max_block_id", stats.max_block_id},
      {"prefix_chained", stats.prefix_chained()},
      {"unchained_blocks", stats.unchained_blocks},
      {"ideal",
       {{"blocks", hits_json(ideal.blocks)},
        {"full_blocks", hits_json(ideal.full_blocks)},
        {"tokens", hits_json(ideal.tokens)},
        {"servable_tokens", hits_json(ideal.servable_tokens)},
        {"whole_requests", ideal.whole_requests},
        {"mean_request_blocks", ideal.mean_request_blocks},
        {"mean_request_tokens", ideal.mean_request_tokens}}},
  };
  // A path need not be UTF-8; what is not becomes U+FFFD.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace octavo::sim

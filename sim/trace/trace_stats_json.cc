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

// What is not known is null.
Json if_known(bool known, Json value) {
  return known ? std::move(value) : Json();
}

Json ideal_json(const TraceStats& stats) {
  const IdealHits& ideal = stats.ideal;
  return {{"blocks", hits_json(ideal.blocks)},
          {"full_blocks", hits_json(ideal.full_blocks)},
          {"tokens", hits_json(ideal.tokens)},
          {"servable_tokens", hits_json(ideal.servable_tokens)},
          {"whole_requests", ideal.whole_requests},
          {"mean_request_blocks", ideal.mean_request_blocks},
          {"mean_request_tokens", ideal.mean_request_tokens}};
}

Json session_json(const SessionHits& hits) {
  return {{"sessions", hits.sessions}, {"mean", hits.mean}, {"min", hits.min}, {"p25", hits.p25},
          {"p50", hits.p50},           {"p75", hits.p75},   {"max", hits.max}};
}

Json traits_json(const TraceTraits& traits) {
  return {{"prefix_ids", traits.prefix_ids},
          {"tail_ids", traits.tail_has_id},
          {"arrivals", traits.arrivals},
          {"outputs", traits.outputs}};
}

}  // namespace

std::string to_json(const TraceStats& stats) {
  const bool arrivals = stats.traits.arrivals;
  const bool ids = stats.traits.prefix_ids;
  const Json json = {
      {"schema_version", 1},
      {"trace", stats.name},
      {"format", std::string(to_string(stats.format))},
      {"traits", traits_json(stats.traits)},
      {"block_size", if_known(ids, stats.block_size)},
      {"requests", stats.requests},
      {"skipped", stats.skipped},
      {"sessions", stats.sessions},
      {"sub_requests", stats.sub_requests},
      {"delayed_requests", stats.delayed_requests},
      {"empty_outputs", if_known(stats.traits.outputs, stats.empty_outputs)},
      {"media", stats.media},
      {"first_arrival_ns", if_known(arrivals, stats.first_arrival_ns)},
      {"last_arrival_ns", if_known(arrivals, stats.last_arrival_ns)},
      {"duration_ns", if_known(arrivals, stats.duration_ns())},
      {"distinct_arrivals", if_known(arrivals, stats.distinct_arrivals)},
      {"sorted", if_known(arrivals, stats.sorted())},
      {"unsorted_requests", if_known(arrivals, stats.unsorted_requests)},
      {"input_tokens", summary_json(stats.input_tokens)},
      {"output_tokens", if_known(stats.traits.outputs, summary_json(stats.output_tokens))},
      {"blocks", if_known(ids, summary_json(stats.blocks))},
      {"distinct_blocks", if_known(ids, stats.distinct_blocks)},
      {"blocks_used_once", if_known(ids, stats.blocks_used_once)},
      {"max_block_id", if_known(ids, stats.max_block_id)},
      {"prefix_chained", if_known(ids, stats.prefix_chained())},
      {"unchained_blocks", if_known(ids, stats.unchained_blocks)},
      {"ideal", if_known(ids, ideal_json(stats))},
      {"session_hits", if_known(stats.session_hits.sessions > 0, session_json(stats.session_hits))},
      {"recorded_tokens", if_known(stats.recorded_requests > 0, hits_json(stats.recorded_tokens))},
      {"recorded_requests", stats.recorded_requests},
  };
  // A path need not be UTF-8; what is not becomes U+FFFD.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace octavo::sim

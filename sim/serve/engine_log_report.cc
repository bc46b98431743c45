#include "number_text.h"
#include "octavo/sim/serve/engine_log.h"
#include <nlohmann/json.hpp>

namespace octavo::sim {

using Json = nlohmann::ordered_json;

std::string_view to_string(LogDifference difference) {
  switch (difference) {
    case LogDifference::None:
      return "none";
    case LogDifference::ReplyRewritten:
      return "reply_rewritten";
    case LogDifference::Unexplained:
      break;
  }
  return "unexplained";
}

std::string explanation(const EngineLog& log,
                        const EngineLogPrediction& prediction,
                        std::size_t index) {
  const LogPrediction& row = prediction.requests[index];
  switch (row.difference) {
    case LogDifference::None:
      return "";
    case LogDifference::ReplyRewritten: {
      const EngineRequest& before = log.requests[*row.previous];
      return "the prompt repeats " + grouped(row.repeated_min) + " to " +
             grouped(row.repeated_max) + " of the " + grouped(before.output_tokens) +
             " tokens that request " + grouped(static_cast<std::int64_t>(*row.previous)) +
             " generated";
    }
    case LogDifference::Unexplained:
      break;
  }
  return "unexplained: " + grouped(row.recorded) + " recorded, " + grouped(row.predicted) +
         " predicted, " + grouped(row.prompts_only) + " of prompts alone";
}

std::string to_json(const EngineLog& log, const EngineLogPrediction& prediction) {
  Json json = {{"schema_version", 1},
               {"trace", log.file},
               {"block_size", log.block_size},
               {"requests", log.requests.size()},
               {"input_tokens", prediction.input_tokens},
               {"recorded_cached_tokens", prediction.recorded_tokens},
               {"predicted_cached_tokens", prediction.predicted_tokens},
               {"equal_requests", prediction.equal_requests},
               {"reply_rewritten_requests", prediction.rewritten_requests},
               {"unexplained_requests", prediction.unexplained_requests}};
  Json rows = Json::array();
  for (std::size_t i = 0; i < log.requests.size(); ++i) {
    const EngineRequest& request = log.requests[i];
    const LogPrediction& row = prediction.requests[i];
    Json one = {{"request", i},
                {"line", request.line},
                {"request_id", request.request_id},
                {"session", request.session},
                {"worker", request.worker_id},
                {"received_ns", request.received_ns},
                {"input_tokens", request.input_tokens},
                {"output_tokens", request.output_tokens},
                {"recorded", row.recorded},
                {"predicted", row.predicted},
                {"prompts_only", row.prompts_only},
                {"at_once", row.at_once},
                {"with_rewritten_replies", row.explained},
                {"difference", to_string(row.difference)},
                {"previous", row.previous ? Json(*row.previous) : Json(nullptr)}};
    if (row.difference != LogDifference::None) {
      one["explanation"] = explanation(log, prediction, i);
    }
    rows.push_back(std::move(one));
  }
  json["rows"] = std::move(rows);
  return json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace octavo::sim

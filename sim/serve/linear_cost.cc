#include "octavo/sim/serve/linear_cost.h"

#include "json_fields.h"
#include "octavo/error.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/serve/wide.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kFitBytesMax = std::int64_t{1} << 20;
constexpr std::int64_t kCoefficientMax = std::int64_t{1} << 62;
constexpr std::int64_t kFsPerPicosecond = 1000;

using Json = nlohmann::ordered_json;

}  // namespace

std::array<std::int64_t, kLinearTerms> LinearCoefficients::terms() const {
  return {step_fs, prefill_sequence_fs, decode_sequence_fs, token_fs, kv_token_fs, pair_fs};
}

LinearCoefficients LinearCoefficients::of(const std::array<std::int64_t, kLinearTerms>& terms) {
  return {.step_fs = terms[0],
          .prefill_sequence_fs = terms[1],
          .decode_sequence_fs = terms[2],
          .token_fs = terms[3],
          .kv_token_fs = terms[4],
          .pair_fs = terms[5]};
}

LinearCost::LinearCost(const LinearCoefficients& coefficients) : coefficients_(coefficients) {
  for (const std::int64_t term : coefficients.terms()) {
    if (term < 0) {
      throw Error(ErrorCode::InvalidArgument, "linear cost: a coefficient is " +
                                                  std::to_string(term) + ", expected at least 0");
    }
  }
}

std::int64_t LinearCost::step_time_ns(const StepShape& shape) const {
  const LinearCoefficients& c = coefficients_;
  const Wide tokens = wide(shape.prefill_tokens) + wide(shape.decode_tokens);
  const Wide fs = wide(c.step_fs) + wide(c.prefill_sequence_fs) * wide(shape.prefill_sequences) +
                  wide(c.decode_sequence_fs) * wide(shape.decode_sequences) +
                  wide(c.token_fs) * tokens + wide(c.kv_token_fs) * wide(shape.read_tokens[0]) +
                  wide(c.pair_fs) * wide(shape.attended_pairs[0]);
  return ns_of_picoseconds((fs + (kFsPerPicosecond - 1)) / kFsPerPicosecond);
}

std::string to_json(const LinearFit& fit) {
  const LinearCoefficients& c = fit.coefficients;
  const Json json = {{"schema_version", 1},
                     {"step_cost", "linear"},
                     {"coefficients_fs",
                      {{"step", c.step_fs},
                       {"prefill_sequence", c.prefill_sequence_fs},
                       {"decode_sequence", c.decode_sequence_fs},
                       {"token", c.token_fs},
                       {"kv_token", c.kv_token_fs},
                       {"pair", c.pair_fs}}},
                     {"fit",
                      {{"steps", fit.steps},
                       {"r2", fit.r2},
                       {"rms_us", fit.rms_us},
                       {"error_us_max", fit.error_us_max},
                       {"error_rel_max", fit.error_rel_max},
                       {"error_line", fit.error_line}}}};
  return json.dump();
}

LinearCoefficients read_linear_cost(const std::string& path) {
  const nlohmann::json document = parse_json_object(read_text_file(path, kFitBytesMax), path);
  const JsonFields fields(document, path);
  fields.integer("schema_version", 1, 1);
  const std::string kind = fields.string("step_cost");
  if (kind != "linear") {
    fields.fail("step_cost", "is \"" + kind + "\", expected \"linear\"");
  }
  const JsonFields values = fields.object("coefficients_fs");
  const auto value = [&](std::string_view name) {
    return values.integer(name, 0, kCoefficientMax);
  };
  return {.step_fs = value("step"),
          .prefill_sequence_fs = value("prefill_sequence"),
          .decode_sequence_fs = value("decode_sequence"),
          .token_fs = value("token"),
          .kv_token_fs = value("kv_token"),
          .pair_fs = value("pair")};
}

}  // namespace octavo::sim

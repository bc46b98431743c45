#include "octavo/sim/trace_write.h"

#include <optional>

#include "decimal.h"
#include "octavo/error.h"
#include "trace_fields.h"

namespace octavo::sim {
namespace {

template <typename Integer>
void append_field(std::string& text, std::string_view name, Integer value) {
  text += ",\"";
  text += name;
  text += "\":";
  append_number(text, value);
}

template <typename Integer>
void append_field(std::string& text, std::string_view name, const std::optional<Integer>& value) {
  if (value) {
    append_field(text, name, *value);
  }
}

template <typename Integer>
void append_array(std::string& text, std::string_view name, const std::vector<Integer>& values) {
  text += ",\"";
  text += name;
  text += "\":[";
  const char* separator = "";
  for (const Integer value : values) {
    text += separator;
    append_number(text, value);
    separator = ",";
  }
  text += ']';
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, "TraceWriter: " + what);
}

void check_not_negative(std::string_view name, std::optional<std::int64_t> value) {
  if (value && *value < 0) {
    refuse(std::string(name) + " " + std::to_string(*value) + " is negative");
  }
}

// A number that the header says is not known must not be there.
void check_unknown(std::string_view name, std::int64_t value, bool known) {
  if (!known && value != 0) {
    refuse(std::string(name) + " is " + std::to_string(value) +
           ", expected 0 in a trace that does not know it");
  }
}

}  // namespace

TraceWriter::TraceWriter(std::ostream& out, const TraceHeader& header)
    : out_(out), block_size_(header.block_size), traits_(header.traits) {
  if (block_size_ < 1 || block_size_ > kTraceBlockMax) {
    refuse("block_size " + std::to_string(block_size_) + " is outside [1, " +
           std::to_string(kTraceBlockMax) + "]");
  }
  line_ = R"({"octavo_trace":1,"block_size":)";
  append_number(line_, block_size_);
  line_ += traits_.prefix_ids ? "" : R"(,"prefix_ids":false)";
  line_ += traits_.tail_has_id ? "" : R"(,"tail_ids":false)";
  line_ += traits_.arrivals ? "" : R"(,"arrivals":false)";
  line_ += traits_.outputs ? "" : R"(,"outputs":false)";
  for (const auto& [name, value] : header.notes) {
    line_ += ",\"" + name + "\":" + value;
  }
  line_ += "}\n";
  out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
}

void TraceWriter::check(const TraceRequest& request) const {
  check_not_negative("arrival_ns", request.arrival_ns);
  if (request.input_tokens < 1) {
    refuse("input_tokens " + std::to_string(request.input_tokens) + " is below 1");
  }
  check_not_negative("output_tokens", request.output_tokens);
  check_not_negative("delay_ns", request.delay_ns);
  check_not_negative("cached_tokens", request.cached_tokens);
  check_not_negative("media", request.media);
  check_not_negative("ttft_ns", request.ttft_ns);
  check_not_negative("service_ns", request.service_ns);
  check_unknown("arrival_ns", request.arrival_ns, traits_.arrivals);
  check_unknown("output_tokens", request.output_tokens, traits_.outputs);
  for (const std::int64_t index : request.wait_for) {
    if (index < 0 || index >= written_) {
      refuse("wait_for " + std::to_string(index) + " is outside [0, " + std::to_string(written_) +
             "), the requests above");
    }
  }
  const std::int64_t blocks =
      ids_of(request.input_tokens, traits_.prefix_ids ? block_size_ : 0, traits_.tail_has_id);
  if (static_cast<std::int64_t>(request.block_ids.size()) != blocks) {
    refuse("block_ids has " + std::to_string(request.block_ids.size()) + " ids, input_tokens " +
           std::to_string(request.input_tokens) + " needs " + std::to_string(blocks));
  }
}

void TraceWriter::write(const TraceRequest& request) {
  check(request);
  line_ = '{';
  if (traits_.arrivals) {
    append_field(line_, "time_ns", request.arrival_ns);
  }
  append_field(line_, "input_tokens", request.input_tokens);
  line_.erase(1, 1);  // The comma before the first field.
  if (traits_.outputs) {
    append_field(line_, "output_tokens", request.output_tokens);
  }
  append_field(line_, "session", request.session);
  write_rest(request);
  if (traits_.prefix_ids) {
    append_array(line_, "block_ids", request.block_ids);
  }
  line_ += "}\n";
  out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
  ++written_;
}

// What only some requests have.
void TraceWriter::write_rest(const TraceRequest& request) {
  append_field(line_, "parent_session", request.parent_session);
  append_field(line_, "delay_ns", request.delay_ns);
  if (!request.wait_for.empty()) {
    append_array(line_, "wait_for", request.wait_for);
  }
  if (request.priority != 0) {
    append_field(line_, "priority", request.priority);
  }
  if (request.media != 0) {
    append_field(line_, "media", request.media);
  }
  append_field(line_, "cached_tokens", request.cached_tokens);
  append_field(line_, "worker", request.worker);
  append_field(line_, "ttft_ns", request.ttft_ns);
  append_field(line_, "service_ns", request.service_ns);
}

}  // namespace octavo::sim

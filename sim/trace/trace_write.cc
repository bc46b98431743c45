#include "octavo/sim/trace_write.h"

#include <charconv>

#include "octavo/error.h"
#include "trace_fields.h"

namespace octavo::sim {
namespace {

template <typename Integer>
void append_number(std::string& text, Integer value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(digits, end);
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, "TraceWriter: " + what);
}

}  // namespace

TraceWriter::TraceWriter(std::ostream& out, const TraceHeader& header)
    : out_(out), block_size_(header.block_size) {
  if (block_size_ < 1 || block_size_ > kTraceBlockMax) {
    refuse("block_size " + std::to_string(block_size_) + " is outside [1, " +
           std::to_string(kTraceBlockMax) + "]");
  }
  line_ = R"({"octavo_trace":1,"block_size":)";
  append_number(line_, block_size_);
  for (const auto& [name, value] : header.notes) {
    line_ += ",\"" + name + "\":" + value;
  }
  line_ += "}\n";
  out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
}

void TraceWriter::write(const TraceRequest& request) {
  if (request.arrival_ns < 0) {
    refuse("arrival_ns " + std::to_string(request.arrival_ns) + " is negative");
  }
  if (request.input_tokens < 1) {
    refuse("input_tokens " + std::to_string(request.input_tokens) + " is below 1");
  }
  if (request.output_tokens < 0) {
    refuse("output_tokens " + std::to_string(request.output_tokens) + " is negative");
  }
  if (request.delay_ns && *request.delay_ns < 0) {
    refuse("delay_ns " + std::to_string(*request.delay_ns) + " is negative");
  }
  const std::int64_t blocks = blocks_of(request.input_tokens, block_size_);
  if (static_cast<std::int64_t>(request.block_ids.size()) != blocks) {
    refuse("block_ids has " + std::to_string(request.block_ids.size()) + " ids, input_tokens " +
           std::to_string(request.input_tokens) + " needs " + std::to_string(blocks));
  }
  line_ = R"({"time_ns":)";
  append_number(line_, request.arrival_ns);
  line_ += R"(,"input_tokens":)";
  append_number(line_, request.input_tokens);
  line_ += R"(,"output_tokens":)";
  append_number(line_, request.output_tokens);
  if (request.session) {
    line_ += R"(,"session":)";
    append_number(line_, *request.session);
  }
  if (request.delay_ns) {
    line_ += R"(,"delay_ns":)";
    append_number(line_, *request.delay_ns);
  }
  line_ += R"(,"block_ids":[)";
  const char* separator = "";
  for (const std::uint64_t id : request.block_ids) {
    line_ += separator;
    append_number(line_, id);
    separator = ",";
  }
  line_ += "]}\n";
  out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
}

}  // namespace octavo::sim

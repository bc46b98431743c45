#include "mooncake_writer.h"

#include "decimal.h"

namespace octavo::sim {
namespace {

// A fraction is written only when there is one.
void append_milliseconds(std::string& text, std::int64_t time_ns) {
  append_number(text, time_ns / 1'000'000);
  if (const std::int64_t rest = time_ns % 1'000'000; rest != 0) {
    std::string fraction = std::to_string(1'000'000 + rest);
    fraction[0] = '.';
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += fraction;
  }
}

}  // namespace

void write_mooncake(const TraceRequest& request, std::string& line, std::ostream& out) {
  line = R"({"timestamp":)";
  append_milliseconds(line, request.arrival_ns);
  line += R"(,"input_length":)";
  append_number(line, request.input_tokens);
  line += R"(,"output_length":)";
  append_number(line, request.output_tokens);
  line += R"(,"hash_ids":[)";
  const char* separator = "";
  for (const std::uint64_t id : request.block_ids) {
    line += separator;
    append_number(line, id);
    separator = ",";
  }
  line += "]}\n";
  out.write(line.data(), static_cast<std::streamsize>(line.size()));
}

}  // namespace octavo::sim

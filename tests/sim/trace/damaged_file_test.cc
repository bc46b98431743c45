// Whatever happens to a byte of a file: it reads, or it is refused in one line.

#include "format_samples.h"
#include "trace_testing.h"

namespace octavo::sim {
namespace {

// Reads a file to its end, or to its InputError. Anything else is a failure of the test.
void expect_read_or_refused(const std::string& content, TraceFormat format) {
  const TempFile file(content);
  try {
    const auto reader = open_trace(file.path(), {.format = format});
    const std::size_t requests = read_all(*reader).size();
    EXPECT_LE(requests, content.size()) << content;
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(message.rfind(file.path(), 0), 0U) << message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << to_string(format) << ": " << error.what() << "\n" << content;
  }
}

TEST(DamagedTrace, SamplesAreValidAndDetected) {
  const std::vector<FormatSample> samples = format_samples();
  EXPECT_EQ(samples.size() + 1, trace_format_names().size());  // All but "auto".
  for (const FormatSample& sample : samples) {
    SCOPED_TRACE(to_string(sample.format));
    const TempFile file(sample.text);
    const auto reader = open_trace(file.path());
    EXPECT_EQ(reader->format(), sample.format);
    EXPECT_EQ(read_all(*reader).size(), sample.requests);
    EXPECT_EQ(read_text(sample.text, {.format = sample.format}).size(), sample.requests);
  }
}

TEST(DamagedTrace, ReadsOrRefusesAFileThatLacksAByte) {
  for (const FormatSample& sample : format_samples()) {
    const std::string text = sample.text;
    for (std::size_t at = 0; at < text.size(); ++at) {
      std::string damaged = text;
      damaged.erase(at, 1);
      expect_read_or_refused(damaged, TraceFormat::Auto);
      expect_read_or_refused(damaged, sample.format);
    }
  }
}

TEST(DamagedTrace, ReadsOrRefusesAFileWithAnotherByte) {
  for (const FormatSample& sample : format_samples()) {
    const std::string text = sample.text;
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (const char byte : {'0', '9', '-', '"', ',', '}', ']', '[', '\n', 'e', '\0', '\xff'}) {
        std::string damaged = text;
        damaged[at] = byte;
        expect_read_or_refused(damaged, sample.format);
      }
    }
  }
}

TEST(DamagedTrace, ReadsOrRefusesAFileCutAnywhere) {
  for (const FormatSample& sample : format_samples()) {
    const std::string text = sample.text;
    for (std::size_t length = 0; length < text.size(); ++length) {
      expect_read_or_refused(text.substr(0, length), TraceFormat::Auto);
      expect_read_or_refused(text.substr(0, length), sample.format);
    }
  }
}

TEST(DamagedTrace, RefusesEveryFormatReadAsEveryOther) {
  for (const FormatSample& sample : format_samples()) {
    for (const FormatSample& other : format_samples()) {
      expect_read_or_refused(sample.text, other.format);
    }
  }
}

}  // namespace
}  // namespace octavo::sim

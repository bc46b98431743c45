// Files that gzip or Zstandard compressed read as what they hold, and broken ones are refused.

#include <cstring>

#include "format_samples.h"
#include "trace_testing.h"
#include <zlib.h>
#include <zstd.h>

namespace octavo::sim {
namespace {

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string zstandard(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

// About `bytes` of Mooncake lines that do not compress to nothing.
std::string lines_of(std::size_t bytes, std::size_t& count) {
  std::string text;
  std::uint64_t id = 1;
  for (count = 0; text.size() < bytes; ++count) {
    id = id * 6364136223846793005ULL + 1442695040888963407ULL;
    text += "{\"timestamp\":" + std::to_string(count) +
            ",\"input_length\":1,\"output_length\":1,\"hash_ids\":[" + std::to_string(id) + "]}\n";
  }
  return text;
}

TEST(CompressedTrace, ReadsAsWhatItHoldsInEveryFormat) {
  for (const FormatSample& sample : format_samples()) {
    SCOPED_TRACE(to_string(sample.format));
    const std::vector<TraceRequest> plain = read_text(sample.text);
    for (const std::string& packed : {gzipped(sample.text), zstandard(sample.text)}) {
      const TempFile file(packed);
      const auto reader = open_trace(file.path());
      EXPECT_EQ(reader->format(), sample.format);
      const std::vector<TraceRequest> requests = read_all(*reader);
      ASSERT_EQ(requests.size(), plain.size());
      for (std::size_t i = 0; i < plain.size(); ++i) {
        EXPECT_EQ(requests[i].arrival_ns, plain[i].arrival_ns);
        EXPECT_EQ(requests[i].block_ids, plain[i].block_ids);
      }
    }
  }
}

TEST(CompressedTrace, ReadsMoreThanAnyBufferHolds) {
  std::size_t count = 0;
  const std::string text = lines_of(std::size_t{3} << 20, count);
  for (const std::string& packed : {gzipped(text), zstandard(text)}) {
    const auto requests = read_text(packed);
    ASSERT_EQ(requests.size(), count);
    EXPECT_EQ(requests.back().arrival_ns, static_cast<std::int64_t>(count - 1) * 1'000'000);
  }
}

TEST(CompressedTrace, ReadsConcatenatedMembersAndFrames) {
  std::size_t count = 0;
  const std::string text = lines_of(300'000, count);
  // Cut inside of a line: members are not lines.
  const std::string head = text.substr(0, 100'001);
  const std::string tail = text.substr(100'001);
  EXPECT_EQ(read_text(gzipped(head) + gzipped("") + gzipped(tail)).size(), count);
  EXPECT_EQ(read_text(zstandard(head) + zstandard("") + zstandard(tail)).size(), count);
}

TEST(CompressedTrace, RefusesATruncatedFileWhereverItIsCut) {
  const std::string sample = format_samples().front().text;
  const std::string gzip = gzipped(sample);
  const std::string zstd = zstandard(sample);
  for (std::size_t length = 2; length < gzip.size(); ++length) {
    EXPECT_EQ(refusal(gzip.substr(0, length)),
              ": ends inside of its gzip data, expected a whole file");
  }
  for (std::size_t length = 4; length < zstd.size(); ++length) {
    EXPECT_EQ(refusal(zstd.substr(0, length)),
              ": ends inside of its Zstandard data, expected a whole file");
  }
}

TEST(CompressedTrace, RefusesACorruptFile) {
  const std::string sample = format_samples().front().text;
  std::string gzip = gzipped(sample);
  gzip[gzip.size() - 6] = static_cast<char>(gzip[gzip.size() - 6] ^ 1);  // In the checksum.
  EXPECT_EQ(refusal(gzip), ": is no intact gzip data: incorrect data check");
  std::string zstd = zstandard(sample);
  zstd[4] = static_cast<char>(0xff);  // In the frame's header.
  EXPECT_EQ(refusal(zstd).rfind(": is no intact Zstandard data: ", 0), 0U);
  EXPECT_EQ(refusal("\x1f\x8b\x08 and so on").rfind(": is no intact gzip data: ", 0), 0U);
}

TEST(CompressedTrace, RefusesBytesBehindTheCompressedData) {
  const std::string sample = format_samples().front().text;
  EXPECT_EQ(refusal(gzipped(sample) + "rest of something"),
            ": is no intact gzip data: incorrect header check");
  EXPECT_EQ(refusal(zstandard(sample) + "rest of something"),
            ": is no intact Zstandard data: Unknown frame descriptor");
}

TEST(CompressedTrace, NeverCrashesOnDamage) {
  const std::string sample = format_samples().front().text;
  for (const std::string& packed : {gzipped(sample), zstandard(sample)}) {
    for (std::size_t at = 0; at < packed.size(); ++at) {
      for (const unsigned bit : {0U, 3U, 7U}) {
        std::string damaged = packed;
        damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1U << bit));
        const TempFile file(damaged);
        try {
          read_all(*open_trace(file.path()));
        } catch (const InputError& error) {
          EXPECT_EQ(std::strchr(error.what(), '\n'), nullptr);
        }
      }
    }
  }
}

}  // namespace
}  // namespace octavo::sim

// What the writer writes, the reader reads back; what no reader would take, the writer refuses.

#include "octavo/sim/trace_write.h"

#include "format_samples.h"
#include "octavo/error.h"
#include "trace_testing.h"

namespace octavo::sim {
namespace {

std::string written(const std::vector<TraceRequest>& requests, const TraceHeader& header) {
  std::ostringstream out;
  TraceWriter writer(out, header);
  for (const TraceRequest& request : requests) {
    writer.write(request);
  }
  return out.str();
}

void expect_equal(const TraceRequest& a, const TraceRequest& b) {
  EXPECT_EQ(a.arrival_ns, b.arrival_ns);
  EXPECT_EQ(a.input_tokens, b.input_tokens);
  EXPECT_EQ(a.output_tokens, b.output_tokens);
  EXPECT_EQ(a.session, b.session);
  EXPECT_EQ(a.block_ids, b.block_ids);
  EXPECT_EQ(a.delay_ns, b.delay_ns);
  EXPECT_EQ(a.wait_for, b.wait_for);
  EXPECT_EQ(a.priority, b.priority);
  EXPECT_EQ(a.cached_tokens, b.cached_tokens);
  EXPECT_EQ(a.parent_session, b.parent_session);
  EXPECT_EQ(a.worker, b.worker);
  EXPECT_EQ(a.media, b.media);
  EXPECT_EQ(a.ttft_ns, b.ttft_ns);
  EXPECT_EQ(a.service_ns, b.service_ns);
}

TEST(TraceWriter, KeepsEveryFieldOfEveryFormat) {
  for (const FormatSample& sample : format_samples()) {
    SCOPED_TRACE(to_string(sample.format));
    const TempFile file(sample.text);
    const auto reader = open_trace(file.path());
    const std::vector<TraceRequest> requests = read_all(*reader);
    const std::string text =
        written(requests, {.block_size = reader->block_size(), .traits = reader->traits()});
    const TempFile copy(text);
    const auto again = open_trace(copy.path());
    EXPECT_EQ(again->traits().prefix_ids, reader->traits().prefix_ids);
    EXPECT_EQ(again->traits().arrivals, reader->traits().arrivals);
    EXPECT_EQ(again->traits().outputs, reader->traits().outputs);
    EXPECT_EQ(again->traits().tail_has_id, reader->traits().tail_has_id);
    const std::vector<TraceRequest> copies = read_all(*again);
    ASSERT_EQ(copies.size(), requests.size());
    for (std::size_t i = 0; i < copies.size(); ++i) {
      expect_equal(copies[i], requests[i]);
    }
  }
}

TEST(TraceWriter, WritesPlainRequestsAsVersionOneAlwaysDid) {
  EXPECT_EQ(written({{.arrival_ns = 7, .input_tokens = 17, .session = 3, .block_ids = {1, 2}}},
                    {.block_size = 16, .notes = {{"seed", "1"}}}),
            "{\"octavo_trace\":1,\"block_size\":16,\"seed\":1}\n"
            "{\"time_ns\":7,\"input_tokens\":17,\"output_tokens\":0,\"session\":3,\"block_ids\":[1,"
            "2]}\n");
}

std::string writer_refusal(const TraceRequest& request, const TraceTraits& traits = {}) {
  try {
    written({request}, {.block_size = 16, .traits = traits});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(TraceWriter, RefusesWhatNoReaderWouldTake) {
  const TraceRequest good{.input_tokens = 17, .block_ids = {1, 2}};
  TraceRequest bad = good;
  bad.delay_ns = -1;
  EXPECT_EQ(writer_refusal(bad), "TraceWriter: delay_ns -1 is negative");
  bad = good;
  bad.wait_for = {0};
  EXPECT_EQ(writer_refusal(bad), "TraceWriter: wait_for 0 is outside [0, 0), the requests above");
  EXPECT_EQ(writer_refusal(good, {.tail_has_id = false}),
            "TraceWriter: block_ids has 2 ids, input_tokens 17 needs 1");
  EXPECT_EQ(writer_refusal(good, {.prefix_ids = false}),
            "TraceWriter: block_ids has 2 ids, input_tokens 17 needs 0");
  bad = good;
  bad.arrival_ns = 5;
  EXPECT_EQ(writer_refusal(bad, {.arrivals = false}),
            "TraceWriter: arrival_ns is 5, expected 0 in a trace that does not know it");
}

}  // namespace
}  // namespace octavo::sim

// KV-event logs: every framing and encoding gives the same events, and errors say where they are.

#include <fstream>

#include "event_log_writer.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/kv_event_log.h"
#include "octavo/sim/kv_event_stats.h"

#include "tests/sim/trace/trace_testing.h"

namespace octavo::sim {
namespace {

std::vector<KvEventBatch> read_log(const std::string& content) {
  const TempFile file(content);
  KvEventReader reader(file.path());
  std::vector<KvEventBatch> batches;
  for (KvEventBatch batch; reader.next(batch);) {
    batches.push_back(batch);
  }
  return batches;
}

std::string log_refusal(const std::string& content) {
  const TempFile file(content);
  const std::string message = input_error_of([&] {
    KvEventReader reader(file.path());
    for (KvEventBatch batch; reader.next(batch);) {
    }
  });
  return message.substr(std::min(message.size(), file.path().size()));
}

// Bytes written by hand from the description of the fields.
constexpr std::string_view bytes(const char* text, std::size_t size) {
  return {text, size};
}
#define OCTAVO_BYTES(text) std::string(bytes(text, sizeof(text) - 1))

void expect_hand_written(const std::vector<KvEventBatch>& batches, const KvBlockName& name) {
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].time_s, 1.5);
  ASSERT_EQ(batches[0].events.size(), 3U);
  const KvEvent& stored = batches[0].events[0];
  EXPECT_EQ(stored.kind, KvEventKind::BlockStored);
  EXPECT_EQ(stored.block_hashes, std::vector<KvBlockName>{name});
  EXPECT_FALSE(stored.parent_block_hash.has_value());
  EXPECT_EQ(stored.token_ids, (std::vector<std::int32_t>{5, 300}));
  EXPECT_EQ(stored.block_size, 2);
  EXPECT_EQ(batches[0].events[1].kind, KvEventKind::BlockRemoved);
  EXPECT_EQ(batches[0].events[1].block_hashes, std::vector<KvBlockName>{name});
  EXPECT_EQ(batches[0].events[2].kind, KvEventKind::AllBlocksCleared);
}

TEST(KvEventLog, ReadsHandWrittenArrays) {
  // [1.5, [["BlockStored", [9], nil, [5, 300], 2], ["BlockRemoved", [9]], ["AllBlocksCleared"]]]
  expect_hand_written(read_log(OCTAVO_BYTES("\x92\xcb\x3f\xf8\0\0\0\0\0\0"
                                            "\x93"
                                            "\x95\xab"
                                            "BlockStored\x91\x09\xc0\x92\x05\xcd\x01\x2c\x02"
                                            "\x92\xac"
                                            "BlockRemoved\x91\x09"
                                            "\x91\xb0"
                                            "AllBlocksCleared")),
                      std::string("i\0\0\0\0\0\0\0\x09", 9));
}

TEST(KvEventLog, ReadsHandWrittenMapEvents) {
  // The same events as maps, the hash as a byte string, the batch an array with a rank.
  const auto batches =
      read_log(OCTAVO_BYTES("\x93\xcb\x3f\xf8\0\0\0\0\0\0"
                            "\x93"
                            "\x85\xa4type\xab"
                            "BlockStored\xac"
                            "block_hashes\x91\xc4\x02\xff\x09\xb1"
                            "parent_block_hash\xc0\xa9"
                            "token_ids\x92\x05\xcd\x01\x2c\xaa"
                            "block_size\x02"
                            "\x82\xac"
                            "block_hashes\x91\xc4\x02\xff\x09\xa4type\xac"
                            "BlockRemoved"
                            "\x81\xa4type\xb0"
                            "AllBlocksCleared"
                            "\x03"));
  expect_hand_written(batches, "b\xff\x09");
  EXPECT_EQ(batches.at(0).rank, 3);
}

TEST(KvEventLog, ReadsHandWrittenMaps) {
  const auto batches =
      read_log(OCTAVO_BYTES("\x83\xac"
                            "attn_dp_rank\x01\xa2ts\xcb\x3f\xf8\0\0\0\0\0\0\xa6"
                            "events\x93"
                            "\x85\xa4type\xab"
                            "BlockStored\xac"
                            "block_hashes\x91\xff\xb1"
                            "parent_block_hash\xc0\xa9"
                            "token_ids\x92\x05\xcd\x01\x2c\xaa"
                            "block_size\x02"
                            "\x82\xac"
                            "block_hashes\x91\xff\xa4type\xac"
                            "BlockRemoved"
                            "\x81\xa4type\xb0"
                            "AllBlocksCleared"));
  expect_hand_written(batches, "i\xff\xff\xff\xff\xff\xff\xff\xff");  // -1
  EXPECT_EQ(batches.at(0).rank, 1);
}

TEST(KvEventLog, ReadsJsonLines) {
  const auto batches = read_log(
      "\n{\"ts\":1.5,\"events\":[{\"type\":\"BlockStored\",\"block_hashes\":[\"abc\"],"
      "\"parent_block_hash\":null,\"token_ids\":[5,300],\"block_size\":2},"
      "[\"BlockRemoved\",[\"abc\"]],[\"AllBlocksCleared\"]]}\r\n");
  expect_hand_written(batches, "babc");
  const auto large = read_log("[1,[[\"BlockRemoved\",[18446744073709551615,-2]]]]");
  EXPECT_EQ(large.at(0).events.at(0).block_hashes,
            (std::vector<KvBlockName>{"i\xff\xff\xff\xff\xff\xff\xff\xff",
                                      "i\xff\xff\xff\xff\xff\xff\xff\xfe"}));
}

std::vector<PlannedEvent> some_events(std::uint64_t first, int tokens_from) {
  using Kind = PlannedEvent::Kind;
  PlannedEvent stored{.kind = Kind::Stored,
                      .hashes = {first, first + 1, ~first},
                      .parent = first == 0 ? std::nullopt : std::optional(first - 1),
                      .tokens = {},
                      .block_size = 4};
  for (int i = 0; i < 12; ++i) {
    stored.tokens.push_back(tokens_from + i * 1000);
  }
  return {
      stored, {.kind = Kind::Removed, .hashes = {first, ~first}, .parent = {}, .tokens = {}}, {}};
}

TEST(KvEventLog, EveryFramingAndEncodingGivesTheSameEvents) {
  for (const bool binary : {false, true}) {
    for (const Encoding encoding :
         {Encoding::Arrays, Encoding::ArraysShort, Encoding::MapEvents, Encoding::Maps}) {
      for (const Framing framing :
           {Framing::Values, Framing::Messages, Framing::Frames, Framing::Multipart}) {
        EventLogWriter writer(encoding, framing, binary);
        for (std::uint64_t i = 0; i < 300; ++i) {  // Longer than the reader's buffer.
          writer.write(some_events(i * 40, static_cast<int>(i)));
        }
        const auto batches = read_log(writer.str());
        ASSERT_EQ(batches.size(), 300U);
        for (std::size_t i = 0; i < batches.size(); ++i) {
          const auto planned = some_events(i * 40, static_cast<int>(i));
          ASSERT_EQ(batches[i].events.size(), 3U);
          const KvEvent& stored = batches[i].events[0];
          EXPECT_EQ(stored.token_ids, planned[0].tokens);
          EXPECT_EQ(stored.block_hashes.size(), 3U);
          EXPECT_EQ(stored.block_hashes[0], batches[i].events[1].block_hashes[0]);
          EXPECT_EQ(stored.block_hashes[2], batches[i].events[1].block_hashes[1]);
          EXPECT_NE(stored.block_hashes[0], stored.block_hashes[1]);
          EXPECT_EQ(stored.parent_block_hash.has_value(), i != 0);
          EXPECT_EQ(stored.content_salts, std::vector<std::uint64_t>(3, 0));
          const bool numbered = framing == Framing::Messages || framing == Framing::Multipart;
          EXPECT_EQ(batches[i].sequence, numbered ? std::optional<std::uint64_t>(i) : std::nullopt);
        }
      }
    }
  }
}

TEST(KvEventLog, TellsAdaptersAndExtraKeysApart) {
  const auto salts = [](const std::string& extra) {
    return read_log("[1,[[\"BlockStored\",[1,2],null,[1,2],1," + extra + "]]]")
        .at(0)
        .events.at(0)
        .content_salts;
  };
  const std::vector<std::uint64_t> none{0, 0};
  EXPECT_EQ(salts("null"), none);
  EXPECT_EQ(salts("null,null,null,[[],null]"), none);
  const auto lora = salts("7");
  EXPECT_NE(lora[0], 0U);
  EXPECT_EQ(lora[0], lora[1]);
  EXPECT_NE(salts("8"), lora);
  EXPECT_NE(salts("null,null,\"name\""), none);
  const auto media = salts("null,null,null,[[\"image\",0],null]");
  EXPECT_NE(media[0], 0U);
  EXPECT_EQ(media[1], 0U);
  EXPECT_NE(salts("null,null,null,[[\"image\",1],null]")[0], media[0]);
}

TEST(KvEventLog, TakesTheEndOfAReplayForWhatItIs) {
  EventLogWriter writer(Encoding::Arrays, Framing::Messages);
  writer.write(some_events(0, 0));
  const std::string end = Pack().array(2).binary(std::string(8, '\xff')).binary("").str();
  EXPECT_EQ(read_log(writer.str() + end + writer.str()).size(), 2U);
}

TEST(KvEventLog, SaysWhereAnErrorIs) {
  EXPECT_EQ(log_refusal(""), ": is empty, expected a KV-event log");
  EXPECT_EQ(log_refusal("hello"),
            ": begins neither with a MessagePack array or map, nor with a length of 4 bytes, nor "
            "with JSON, expected a KV-event log");
  EXPECT_EQ(log_refusal("\x1f\x8b rest"),
            ": is compressed, expected a KV-event log: decompress it first");
  EventLogWriter good(Encoding::ArraysShort, Framing::Values);
  good.write({});
  const std::string first = good.str();  // 11 bytes
  EXPECT_EQ(log_refusal(first + "\x92\xcb"),
            ": byte 11, batch 2: the file ends inside of a MessagePack value");
  EXPECT_EQ(log_refusal(first + "\xc1"),
            ": byte 11, batch 2: the byte 0xc1 begins no MessagePack value");
  EXPECT_EQ(log_refusal(first + "\x91\x01"),
            ": byte 12, batch 2: events: missing, expected a batch of time and events");
  EXPECT_EQ(log_refusal(first + "\x92\x01\x92\x91\xb0"
                                "AllBlocksCleared\x91\xa3new"),
            ": byte 32, batch 2: event 2: is \"new\", expected BlockStored, BlockRemoved or "
            "AllBlocksCleared");
  EXPECT_EQ(log_refusal("[1,[[\"BlockStored\",[1],null,[1,2,3],2]]]"),
            ":1: batch 1: event 1, BlockStored: token_ids has 3 ids, expected 2 = 1 blocks of "
            "block_size 2, or none");
  EXPECT_EQ(log_refusal("[1,[[\"BlockStored\",[1],null,\"x\",2]]]"),
            ":1: batch 1: event 1, BlockStored.token_ids: is a string, expected an array");
  EXPECT_EQ(log_refusal("[1,[[\"BlockStored\",[1],null]]]"),
            ":1: batch 1: event 1, BlockStored: has no token_ids, expected one");
  EXPECT_EQ(log_refusal("[1,[[\"BlockRemoved\",[1.5]]]]"),
            ":1: batch 1: event 1, BlockRemoved.block_hashes: is a float, expected an integer or a "
            "byte string");
  EXPECT_EQ(log_refusal("[1,[]]\n[1,"), ":2: batch 2: is not JSON, expected a batch a line");
  EXPECT_EQ(log_refusal(std::string("\0\0\0\x20\x92", 5)),
            ": byte 0, batch 1: the file ends inside of a frame of 32 bytes");
}

TEST(KvEventLog, RefusesValuesThatNestTooDeep) {
  EXPECT_EQ(log_refusal(std::string(100, '\x91') + "\x01"),
            ": byte 0, batch 1: values nest deeper than 64");
}

TEST(KvEventLog, RefusesEveryCutAndSurvivesEveryChangedByte) {
  EventLogWriter writer(Encoding::Maps, Framing::Values, true);
  writer.write(some_events(0, 5));
  const std::string whole = writer.str();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_NE(log_refusal(whole.substr(0, size)), "");
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int change : {1, 0x80, 0x3f}) {
      std::string spoilt = whole;
      spoilt[i] = static_cast<char>(spoilt[i] ^ change);
      try {
        read_log(spoilt);
      } catch (const InputError&) {  // NOLINT: either is legal, anything else is not
      }
    }
  }
}

TEST(KvEventStats, CountsWhatIsCachedAndWhatIsMissing) {
  using Kind = PlannedEvent::Kind;
  EventLogWriter writer(Encoding::Arrays, Framing::Messages);
  const auto stored = [](std::vector<std::uint64_t> hashes, std::optional<std::uint64_t> parent) {
    return PlannedEvent{.kind = Kind::Stored,
                        .hashes = std::move(hashes),
                        .parent = parent,
                        .tokens = {},
                        .block_size = 8};
  };
  writer.write({stored({1, 2, 3}, {}), stored({4}, 3)});
  writer.write({{.kind = Kind::Removed, .hashes = {4, 9}, .parent = {}, .tokens = {}},
                stored({1}, {}),
                stored({7}, 77)});
  writer.skip_sequence(5);
  writer.write({{}, stored({5}, {})});
  const TempFile file(writer.str());
  KvEventReader reader(file.path());
  const KvEventStats stats = compute_event_stats(reader);
  EXPECT_EQ(stats.batches, 3);
  EXPECT_EQ(stats.stored_events, 5);
  EXPECT_EQ(stats.stored_blocks, 7);
  EXPECT_EQ(stats.removed_blocks, 2);
  EXPECT_EQ(stats.removed_unknown, 1);
  EXPECT_EQ(stats.stored_twice, 1);
  EXPECT_EQ(stats.unknown_parents, 1);
  EXPECT_EQ(stats.cleared_events, 1);
  EXPECT_EQ(stats.cached_blocks_max, 4);
  EXPECT_EQ(stats.cached_blocks, 1);
  EXPECT_EQ(stats.sequence_gaps, 1);
  EXPECT_EQ(stats.missing_batches, 5);
  EXPECT_EQ(stats.without_tokens, 5);
  EXPECT_EQ(stats.media, (std::map<std::string, std::int64_t>{{"GPU", 7}}));
  EXPECT_EQ(stats.block_sizes, (std::map<std::int64_t, std::int64_t>{{8, 7}}));
}

}  // namespace
}  // namespace octavo::sim

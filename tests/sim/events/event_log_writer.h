// Writes KV-event logs for tests, in every encoding and framing: a small MessagePack writer, and a
// sink that turns what a block manager says into batches.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/kv_events.h"

namespace octavo::sim {

/// Appends MessagePack values, each in its shortest form.
class Pack {
 public:
  Pack& nil() { return byte(0xc0); }
  Pack& integer(std::uint64_t value) {
    if (value < 128) {
      return byte(value);
    }
    if (value < 256) {
      return byte(0xcc).big(value, 1);
    }
    if (value < 65536) {
      return byte(0xcd).big(value, 2);
    }
    return value >> 32 == 0 ? byte(0xce).big(value, 4) : byte(0xcf).big(value, 8);
  }
  Pack& negative(std::int64_t value) {
    return byte(0xd3).big(static_cast<std::uint64_t>(value), 8);
  }
  Pack& number(double value) { return byte(0xcb).big(std::bit_cast<std::uint64_t>(value), 8); }
  Pack& string(std::string_view text) {
    text.size() < 32 ? byte(0xa0 | text.size()) : byte(0xd9).big(text.size(), 1);
    out_ += text;
    return *this;
  }
  Pack& binary(std::string_view bytes) {
    bytes.size() < 256 ? byte(0xc4).big(bytes.size(), 1) : byte(0xc6).big(bytes.size(), 4);
    out_ += bytes;
    return *this;
  }
  Pack& array(std::size_t count) {
    return count < 16 ? byte(0x90 | count) : byte(0xdc).big(count, 2);
  }
  Pack& map(std::size_t count) {
    return count < 16 ? byte(0x80 | count) : byte(0xde).big(count, 2);
  }
  Pack& raw(std::string_view bytes) {
    out_ += bytes;
    return *this;
  }

  const std::string& str() const { return out_; }

  static std::string big_endian(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = bytes - 1; i >= 0; --i) {
      out += static_cast<char>(value >> (8 * i) & 0xffU);
    }
    return out;
  }

 private:
  Pack& byte(std::uint64_t value) {
    out_ += static_cast<char>(value);
    return *this;
  }
  Pack& big(std::uint64_t value, int bytes) {
    out_ += big_endian(value, bytes);
    return *this;
  }

  std::string out_;
};

enum class Encoding { Arrays, ArraysShort, MapEvents, Maps };
enum class Framing { Values, Messages, Frames, Multipart };

/// One event as a test plans it; `hashes` are integers, or byte strings with `binary`.
struct PlannedEvent {
  enum class Kind { Stored, Removed, Cleared } kind = Kind::Cleared;
  std::vector<std::uint64_t> hashes;
  std::optional<std::uint64_t> parent{};
  std::vector<std::int32_t> tokens{};
  int block_size = 0;
};

class EventLogWriter {
 public:
  EventLogWriter(Encoding encoding, Framing framing, bool binary = false)
      : encoding_(encoding), framing_(framing), binary_(binary) {}

  /// One batch of the events.
  void write(const std::vector<PlannedEvent>& events) {
    Pack all;
    all.array(events.size());
    for (const PlannedEvent& event : events) {
      all.raw(packed(event));
    }
    const double time = 1'700'000'000.5 + static_cast<double>(sequence_);
    Pack batch;
    if (encoding_ == Encoding::Maps) {
      batch.map(3).string("ts").number(time).string("events").raw(all.str());
      batch.string("data_parallel_rank").nil();
    } else if (encoding_ == Encoding::ArraysShort) {
      batch.array(2).number(time).raw(all.str());
    } else {
      batch.array(3).number(time).raw(all.str()).integer(0);
    }
    frame(batch.str());
  }

  void skip_sequence(std::uint64_t count) { sequence_ += count; }
  const std::string& str() const { return out_; }

 private:
  void hash(Pack& pack, std::uint64_t value) const {
    // Thirty-two bytes, as SHA-256 gives them.
    binary_ ? pack.binary(std::string(24, '\x07') + Pack::big_endian(value, 8))
            : pack.integer(value);
  }

  std::string packed(const PlannedEvent& event) const {
    Pack hashes;
    hashes.array(event.hashes.size());
    for (const std::uint64_t value : event.hashes) {
      hash(hashes, value);
    }
    Pack parent;
    event.parent ? hash(parent, *event.parent) : void(parent.nil());
    Pack tokens;
    tokens.array(event.tokens.size());
    for (const std::int32_t token : event.tokens) {
      token < 0 ? tokens.negative(token) : tokens.integer(static_cast<std::uint64_t>(token));
    }
    const auto size = static_cast<std::uint64_t>(event.block_size);
    const bool maps = encoding_ == Encoding::MapEvents || encoding_ == Encoding::Maps;
    Pack out;
    switch (event.kind) {
      case PlannedEvent::Kind::Cleared:
        maps ? out.map(1).string("type") : out.array(1);
        out.string("AllBlocksCleared");
        break;
      case PlannedEvent::Kind::Removed:
        if (maps) {
          out.map(3).string("block_hashes").raw(hashes.str()).string("medium").string("GPU");
          out.string("type").string("BlockRemoved");
        } else if (encoding_ == Encoding::ArraysShort) {
          out.array(2).string("BlockRemoved").raw(hashes.str());
        } else {
          out.array(3).string("BlockRemoved").raw(hashes.str()).nil();
        }
        break;
      case PlannedEvent::Kind::Stored:
        if (maps) {
          out.map(8).string("type").string("BlockStored").string("token_ids").raw(tokens.str());
          out.string("block_hashes").raw(hashes.str()).string("parent_block_hash");
          out.raw(parent.str()).string("block_size").integer(size).string("lora_id").nil();
          out.string("medium").string("GPU").string("something_new").array(2).nil().integer(7);
        } else {
          const bool cut = encoding_ == Encoding::ArraysShort;
          out.array(cut ? 5 : 14).string("BlockStored").raw(hashes.str()).raw(parent.str());
          out.raw(tokens.str()).integer(size);
          if (!cut) {
            out.nil().string("GPU").nil().nil().integer(0).string("full").nil().nil().string("x");
          }
        }
        break;
    }
    return out.str();
  }

  void frame(const std::string& batch) {
    const std::string number = Pack::big_endian(sequence_++, 8);
    const auto sized = [](const std::string& part) {
      return Pack::big_endian(part.size(), 4) + part;
    };
    switch (framing_) {
      case Framing::Values:
        out_ += batch;
        break;
      case Framing::Messages:
        out_ += Pack().array(3).binary("kv-events").binary(number).binary(batch).str();
        break;
      case Framing::Frames:
        out_ += sized(batch);
        break;
      case Framing::Multipart:
        out_ += sized("kv-events") + sized(number) + sized(batch);
        break;
    }
  }

  Encoding encoding_;
  Framing framing_;
  bool binary_;
  std::uint64_t sequence_ = 0;
  std::string out_;
};

/// Keeps what a manager says as planned events.
class EventCollector final : public KVEventSink {
 public:
  void on_block_stored(const BlockStored& event) noexcept override {
    events.push_back({.kind = PlannedEvent::Kind::Stored,
                      .hashes = {event.block_hashes.begin(), event.block_hashes.end()},
                      .parent = event.parent_block_hash,
                      .tokens = {event.token_ids.begin(), event.token_ids.end()},
                      .block_size = event.block_size});
  }
  void on_block_removed(const BlockRemoved& event) noexcept override {
    events.push_back({.kind = PlannedEvent::Kind::Removed,
                      .hashes = {event.block_hashes.begin(), event.block_hashes.end()},
                      .parent = {},
                      .tokens = {}});
  }
  void on_all_blocks_cleared() noexcept override { events.emplace_back(); }

  std::vector<PlannedEvent> events;
};

}  // namespace octavo::sim

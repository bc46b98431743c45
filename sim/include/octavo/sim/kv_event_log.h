// KV-event logs: what vLLM and SGLang say about their prefix caches, read from a file.
//
// A reader hands out one batch at a time and takes memory for the largest one. The accepted
// framings and encodings are described in traces/KV_EVENTS.md; which of them a file has is told
// from its content. A reader is driven from one thread; distinct readers are independent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace octavo::sim {

/// A block's name in a log, as bytes that are equal exactly when the names are: 'i' and the eight
/// bytes of an integer (big-endian, two's complement), or 'b' and a byte string.
using KvBlockName = std::string;

/// The name for people: 0x00000000000004d2, or the bytes in hexadecimal digits, cut when long.
std::string to_text(const KvBlockName& name);

enum class KvEventKind { BlockStored, BlockRemoved, AllBlocksCleared };

/// "BlockStored", "BlockRemoved", "AllBlocksCleared".
const char* to_string(KvEventKind kind) noexcept;

/// One event. Fields that a kind does not have keep their defaults.
struct KvEvent {
  KvEventKind kind = KvEventKind::AllBlocksCleared;
  std::vector<KvBlockName> block_hashes;         ///< Consecutive blocks of one prefix, when stored.
  std::optional<KvBlockName> parent_block_hash;  ///< Of the block before the first; none: the root.
  std::vector<std::int32_t>
      token_ids;  ///< block_size a block; empty when an offload left them out.
  std::int64_t block_size = 0;

  /// One a block: a hash of the adapter and of the block's extra keys (media, salts), 0 when there
  /// are none. Equal tokens with different ones are different contents.
  std::vector<std::uint64_t> content_salts;

  std::string medium;      ///< "GPU", "CPU", ...; empty: not said.
  std::int64_t group = 0;  ///< Group of layers with a cache of its own; 0 when not said.
};

struct KvEventBatch {
  double time_s = 0;                      ///< Unix time.
  std::optional<std::int64_t> rank;       ///< Data-parallel rank.
  std::optional<std::uint64_t> sequence;  ///< Of the transport, when the framing has it.
  std::vector<KvEvent> events;
};

/// How a file holds its batches.
enum class KvEventFraming {
  Values,     ///< MessagePack values end to end, each a batch or a multipart message.
  Frames,     ///< Each behind its length, 4 bytes, big-endian.
  Multipart,  ///< Topic, sequence and payload, each behind such a length.
  Lines,      ///< JSON, one batch a line.
};

/// "values", "frames", "multipart", "lines".
const char* to_string(KvEventFraming framing) noexcept;

class KvEventReader {
 public:
  /// Opens a log; "-" reads standard input. Raises InputError when the file is missing, unreadable,
  /// empty or no log.
  explicit KvEventReader(const std::string& path);
  ~KvEventReader();
  KvEventReader(KvEventReader&&) noexcept;
  KvEventReader& operator=(KvEventReader&&) noexcept;

  /// Fills `batch` with the next batch, or returns false at the end. Raises InputError, which names
  /// the byte or the line, the batch, the event and the field, for what is no batch; nothing is
  /// skipped. The reader must not be used after that.
  bool next(KvEventBatch& batch);

  KvEventFraming framing() const noexcept;
  const std::string& name() const noexcept;  ///< The path, or "<stdin>".

  /// Of the batch handed out last: its number from 1, and where it begins ("byte 4711", "line 3").
  std::int64_t batch_number() const noexcept;
  std::string place() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octavo::sim

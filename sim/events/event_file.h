// The payloads of a KV-event log: takes a file apart into batches, whatever its framing.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/sim/kv_event_log.h"

namespace octavo::sim {

/// A longer batch is refused: it is no log, and would be read into memory whole.
inline constexpr std::size_t kBatchBytesMax = std::size_t{1} << 30;

class EventFile {
 public:
  explicit EventFile(const std::string& path);

  /// Goes to the next batch; false at the end.
  bool next();

  /// Of the batch at hand: its MessagePack bytes (a JSON line is encoded as such), its sequence
  /// number if the framing has one, where its bytes begin in the file, and its line (0 in binary
  /// files). The view holds until the next call of `next`.
  std::string_view payload() const noexcept { return payload_; }
  std::optional<std::uint64_t> sequence() const noexcept { return sequence_; }
  std::uint64_t payload_offset() const noexcept { return payload_offset_; }
  std::int64_t line() const noexcept { return line_; }

  KvEventFraming framing() const noexcept { return framing_; }
  const std::string& name() const noexcept { return name_; }
  std::int64_t batch_number() const noexcept { return batch_number_; }

  /// Raises InputError "NAME:LINE: byte B, batch N: what".
  [[noreturn]] void refuse(std::uint64_t offset, const std::string& what) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept;
  };

  std::string_view window() const { return {buffer_.data() + begin_, end_ - begin_}; }
  bool fill();                   // More bytes behind the window; false at the end of the file.
  bool need(std::size_t bytes);  // Whether the window has so many, after filling.
  void consume(std::size_t bytes);

  KvEventFraming detect();
  bool next_value();
  bool next_frame();
  bool next_multipart();
  bool next_line();
  // The frame at `at` behind the window's begin, which moves behind it; false at the file's end.
  bool frame_at(std::size_t& at, std::size_t& begin, std::size_t& size);
  void open_message(std::string_view value, std::uint64_t offset);
  void take_sequence(std::string_view bytes, std::uint64_t offset);

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // buffer_[begin_, end_) is read but not consumed.
  std::size_t end_ = 0;
  std::size_t used_ = 0;  // Bytes at begin_ that the batch at hand lies in; consumed by `next`.
  std::uint64_t consumed_ = 0;
  KvEventFraming framing_ = KvEventFraming::Values;
  std::string_view payload_;
  std::uint64_t payload_offset_ = 0;
  std::optional<std::uint64_t> sequence_;
  std::int64_t line_ = 0;
  std::int64_t batch_number_ = 0;
  std::string encoded_;  // A JSON line as MessagePack.
};

}  // namespace octavo::sim

#include "event_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "msgpack_scanner.h"
#include "octavo/sim/input_error.h"
#include <nlohmann/json.hpp>

namespace octavo::sim {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kSequenceBytes = 8;

bool begins_array_or_map(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x80 && byte < 0xa0) || (byte >= 0xdc && byte <= 0xdf);
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

void EventFile::Close::operator()(std::FILE* file) const noexcept {
  if (file != stdin) {
    std::fclose(file);
  }
}

EventFile::EventFile(const std::string& path) : name_(path == "-" ? "<stdin>" : path) {
  if (path == "-") {
    file_.reset(stdin);
  } else {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      throw InputError(name_, 0, "", "is a directory, expected a KV-event log");
    }
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (file_ == nullptr) {
      throw InputError(name_, 0, "", "cannot be opened: " + std::generic_category().message(errno));
    }
  }
  buffer_.resize(kBufferBytes);
  framing_ = detect();
}

void EventFile::refuse(std::uint64_t offset, const std::string& what) const {
  std::string where = line_ > 0 ? "" : "byte " + std::to_string(offset) + ", ";
  throw InputError(name_, line_, where + "batch " + std::to_string(batch_number_), what);
}

bool EventFile::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (end_ > kBatchBytesMax) {
      refuse(consumed_, "is longer than 1 GiB, expected a KV-event batch");
    }
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t bytes =
      std::fread(buffer_.data() + end_, 1, buffer_.size() - end_, file_.get());
  end_ += bytes;
  if (bytes == 0 && std::ferror(file_.get()) != 0) {
    throw InputError(name_, 0, "", "cannot be read: " + std::generic_category().message(errno));
  }
  return bytes > 0;
}

bool EventFile::need(std::size_t bytes) {
  while (end_ - begin_ < bytes) {
    if (!fill()) {
      return false;
    }
  }
  return true;
}

void EventFile::consume(std::size_t bytes) {
  begin_ += bytes;
  consumed_ += bytes;
}

KvEventFraming EventFile::detect() {
  if (!need(1)) {
    throw InputError(name_, 0, "", "is empty, expected a KV-event log");
  }
  need(kLengthBytes + 1);
  if (window().substr(0, 3) == "\xEF\xBB\xBF") {
    consume(3);  // A byte order mark, as some editors put it.
  }
  std::string_view bytes = window();
  if (bytes.substr(0, 2) == "\x1f\x8b" || bytes.substr(0, 4) == "\x28\xb5\x2f\xfd") {
    throw InputError(name_, 0, "", "is compressed, expected a KV-event log: decompress it first");
  }
  if (bytes.empty() || is_blank(bytes[0]) || bytes[0] == '{' || bytes[0] == '[') {
    return KvEventFraming::Lines;
  }
  if (begins_array_or_map(bytes[0])) {
    return KvEventFraming::Values;
  }
  if (bytes[0] != '\0') {
    throw InputError(name_, 0, "",
                     "begins neither with a MessagePack array or map, nor with a length of 4 "
                     "bytes, nor with JSON, expected a KV-event log");
  }
  // A length. Behind it stands a batch or, in a multipart message, its topic.
  const bool is_topic = bytes.size() <= kLengthBytes || big_endian(bytes.substr(0, 4)) == 0 ||
                        !begins_array_or_map(bytes[kLengthBytes]);
  return is_topic ? KvEventFraming::Multipart : KvEventFraming::Frames;
}

bool EventFile::next() {
  for (;;) {
    consume(used_);
    used_ = 0;
    sequence_.reset();
    payload_ = {};
    ++batch_number_;
    bool any = false;
    switch (framing_) {
      case KvEventFraming::Values:
        any = next_value();
        break;
      case KvEventFraming::Frames:
        any = next_frame();
        break;
      case KvEventFraming::Multipart:
        any = next_multipart();
        break;
      case KvEventFraming::Lines:
        return next_line();
    }
    if (!any) {
      return false;
    }
    // A replay ends with the sequence number -1 and nothing in it.
    if (!payload_.empty() || sequence_ != ~std::uint64_t{0}) {
      return true;
    }
    --batch_number_;
  }
}

bool EventFile::next_value() {
  for (;;) {
    try {
      used_ = msgpack_length(window());
    } catch (const MsgpackError& error) {
      refuse(consumed_, error.what());
    }
    if (used_ > 0) {
      open_message(window().substr(0, used_), consumed_);
      return true;
    }
    if (!fill()) {
      if (window().empty()) {
        return false;
      }
      refuse(consumed_, "the file ends inside of a MessagePack value");
    }
  }
}

bool EventFile::frame_at(std::size_t& at, std::size_t& begin, std::size_t& size) {
  if (!need(at + kLengthBytes)) {
    if (at == 0 && window().empty()) {
      return false;
    }
    refuse(consumed_ + at, "the file ends inside of a length of 4 bytes");
  }
  size = big_endian(window().substr(at, kLengthBytes));
  begin = at + kLengthBytes;
  if (!need(begin + size)) {
    refuse(consumed_ + at, "the file ends inside of a frame of " + std::to_string(size) + " bytes");
  }
  at = begin + size;
  return true;
}

bool EventFile::next_frame() {
  std::size_t begin = 0;
  std::size_t size = 0;
  if (!frame_at(used_, begin, size)) {
    return false;
  }
  open_message(window().substr(begin, size), consumed_ + begin);
  return true;
}

bool EventFile::next_multipart() {
  std::size_t begin = 0;
  std::size_t size = 0;
  if (!frame_at(used_, begin, size)) {  // the topic
    return false;
  }
  if (!frame_at(used_, begin, size)) {
    return false;
  }
  take_sequence(window().substr(begin, size), consumed_ + begin);
  frame_at(used_, begin, size);
  payload_ = window().substr(begin, size);
  payload_offset_ = consumed_ + begin;
  return true;
}

void EventFile::take_sequence(std::string_view bytes, std::uint64_t offset) {
  if (bytes.size() != kSequenceBytes) {
    refuse(offset, "the sequence number has " + std::to_string(bytes.size()) +
                       " bytes, expected 8, big-endian");
  }
  sequence_ = big_endian(bytes);
}

// A batch, or an array of [topic,] sequence and payload, which begins with byte strings where a
// batch has its time.
void EventFile::open_message(std::string_view value, std::uint64_t offset) {
  payload_ = value;
  payload_offset_ = offset;
  MsgpackScanner scanner(value);
  try {
    if (scanner.peek() != MsgpackType::Array) {
      return;
    }
    const std::uint32_t parts = scanner.array();
    if (parts < 2 || parts > 3 ||
        (scanner.peek() != MsgpackType::Binary && scanner.peek() != MsgpackType::String)) {
      return;
    }
    if (parts == 3) {
      scanner.skip();
    }
    const std::uint64_t at = offset + scanner.offset();
    take_sequence(scanner.bytes(), at);
    payload_ = scanner.bytes();
    payload_offset_ = offset + static_cast<std::uint64_t>(payload_.data() - value.data());
  } catch (const MsgpackError& error) {
    refuse(offset, error.what());
  }
}

bool EventFile::next_line() {
  std::size_t searched = 0;
  for (;;) {
    const std::size_t found = window().find('\n', searched);
    if (found == std::string_view::npos) {
      searched = end_ - begin_;
      if (fill()) {
        continue;
      }
      if (window().empty()) {
        return false;
      }
    }
    const std::string_view line = window().substr(0, found);
    const std::size_t size = found == std::string_view::npos ? line.size() : found + 1;
    ++line_;
    searched = 0;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      consume(size);
      continue;
    }
    try {
      const auto json = nlohmann::json::parse(line);
      encoded_.clear();
      nlohmann::json::to_msgpack(json, encoded_);
    } catch (const nlohmann::json::exception&) {
      refuse(0, "is not JSON, expected a batch a line");
    }
    consume(size);
    payload_ = encoded_;
    payload_offset_ = 0;
    return true;
  }
}

}  // namespace octavo::sim

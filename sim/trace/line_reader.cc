#include "line_reader.h"

#include <cstring>

#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
constexpr std::size_t kLookaheadBytes = std::size_t{64} << 10;

}  // namespace

LineReader::LineReader(const std::string& path)
    : name_(path == "-" ? "<stdin>" : path), bytes_(open_bytes(path, name_)) {
  buffer_.resize(kBufferBytes);
}

bool LineReader::next(std::string_view& line) {
  if (again_) {
    again_ = false;
    line = current_;
    return true;
  }
  while (next_raw(line)) {
    if (line.find_first_not_of(" \t") != std::string_view::npos) {
      current_ = line;
      return true;
    }
  }
  return false;
}

bool LineReader::next_any(std::string_view& line) {
  if (again_) {
    again_ = false;
    line = current_;
    return true;
  }
  const bool any = next_raw(line);
  current_ = line;
  return any;
}

std::string_view LineReader::lookahead() {
  const std::size_t behind = begin_;
  begin_ = static_cast<std::size_t>(current_.data() - buffer_.data());
  const std::size_t line_bytes = behind - begin_;  // With its end.
  while (!at_end_ && end_ - begin_ < kLookaheadBytes) {
    fill();
  }
  const std::string_view text(buffer_.data() + begin_, end_ - begin_);
  current_ = text.substr(0, current_.size());
  begin_ += line_bytes;
  return text;
}

std::string_view LineReader::document() {
  begin_ = static_cast<std::size_t>(current_.data() - buffer_.data());
  while (!at_end_) {
    fill();
    if (end_ - begin_ > kDocumentBytesMax) {
      throw InputError(name_, 0, "", "is longer than 1 GiB, expected a document of one session");
    }
  }
  const std::string_view text(buffer_.data() + begin_, end_ - begin_);
  begin_ = end_;
  return text;
}

bool LineReader::next_raw(std::string_view& line) {
  std::size_t searched = 0;
  for (;;) {
    const char* start = buffer_.data() + begin_;
    const std::size_t held = end_ - begin_;
    const void* found =
        held == searched ? nullptr : std::memchr(start + searched, '\n', held - searched);
    if (found != nullptr || (at_end_ && held > 0)) {
      std::size_t length = found != nullptr
                               ? static_cast<std::size_t>(static_cast<const char*>(found) - start)
                               : held;
      check_length(length);
      begin_ += found != nullptr ? length + 1 : length;
      ++line_;
      if (length > 0 && start[length - 1] == '\r') {
        --length;
      }
      line = std::string_view(start, length);
      if (line_ == 1 && line.substr(0, 3) == "\xEF\xBB\xBF") {
        line.remove_prefix(3);  // A byte order mark, as some editors put it.
      }
      return true;
    }
    if (at_end_) {
      return false;
    }
    searched = held;
    check_length(held);
    fill();
  }
}

void LineReader::check_length(std::size_t length) const {
  if (length > kLineBytesMax) {
    throw InputError(name_, line_ + 1, "", "the line is longer than 64 MiB, expected JSON lines");
  }
}

void LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t bytes = bytes_->read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += bytes;
  at_end_ = bytes == 0;
}

}  // namespace octavo::sim

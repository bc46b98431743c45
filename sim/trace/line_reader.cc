#include "line_reader.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;

std::string error_text(int error) {
  return std::generic_category().message(error);
}

}  // namespace

void LineReader::Close::operator()(std::FILE* file) const noexcept {
  if (file != stdin) {
    std::fclose(file);
  }
}

LineReader::LineReader(const std::string& path) : name_(path == "-" ? "<stdin>" : path) {
  if (path == "-") {
    file_.reset(stdin);
  } else {
    std::error_code ignored;
    // Opening a directory succeeds; only reading from it fails, and with a less clear message.
    if (std::filesystem::is_directory(path, ignored)) {
      throw InputError(name_, 0, "", "is a directory, expected a trace file");
    }
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (file_ == nullptr) {
      throw InputError(name_, 0, "", "cannot be opened: " + error_text(errno));
    }
  }
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
  const std::size_t bytes =
      std::fread(buffer_.data() + end_, 1, buffer_.size() - end_, file_.get());
  end_ += bytes;
  if (bytes == 0) {
    if (std::ferror(file_.get()) != 0) {
      throw InputError(name_, 0, "", "cannot be read: " + error_text(errno));
    }
    at_end_ = true;
  }
}

}  // namespace octavo::sim

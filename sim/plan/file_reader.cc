#include "file_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::size_t kBufferBytes = 65536;

}  // namespace

FileReader::FileReader(const std::string& path) : path_(path), buffer_(kBufferBytes) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw InputError(path, 0, "", "does not exist, expected a file");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw InputError(path, 0, "", "is no regular file, expected one");
  }
  stream_.open(path, std::ios::binary);
  if (!stream_) {
    throw InputError(path, 0, "", std::string("cannot be read: ") + std::strerror(errno));
  }
  size_ = static_cast<std::int64_t>(std::filesystem::file_size(path));
}

std::uint64_t FileReader::number(int bytes, std::string_view what) {
  need(bytes, what);
  unsigned char raw[8] = {};
  take(reinterpret_cast<char*>(raw), bytes);
  std::uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) {
    value = value << 8 | raw[i];
  }
  return value;
}

std::int64_t FileReader::count(int bytes, std::int64_t max, std::string_view what) {
  const std::uint64_t value = number(bytes, what);
  if (value > static_cast<std::uint64_t>(max)) {
    fail(what, "is " + std::to_string(value) + ", expected at most " + std::to_string(max));
  }
  return static_cast<std::int64_t>(value);
}

std::string FileReader::text(std::int64_t bytes, std::string_view what) {
  need(bytes, what);  // so the allocation is never larger than the file
  std::string value(static_cast<std::size_t>(bytes), '\0');
  take(value.data(), bytes);
  return value;
}

void FileReader::skip(std::int64_t bytes, std::string_view what) {
  need(bytes, what);
  position_ += bytes;
  const auto buffered = static_cast<std::int64_t>(buffer_valid_ - buffer_next_);
  if (bytes <= buffered) {
    buffer_next_ += static_cast<std::size_t>(bytes);
    return;
  }
  buffer_next_ = 0;
  buffer_valid_ = 0;
  stream_.seekg(position_);
}

void FileReader::fail(std::string_view what, std::string_view wrong) const {
  throw InputError(path_, 0, what, wrong);
}

void FileReader::need(std::int64_t bytes, std::string_view what) const {
  if (bytes < 0 || bytes > remaining()) {
    fail(what, "ends after " + std::to_string(remaining()) + " of " + std::to_string(bytes) +
                   " bytes, with the file");
  }
}

void FileReader::take(char* to, std::int64_t bytes) {
  position_ += bytes;
  while (bytes > 0) {
    if (buffer_next_ == buffer_valid_) {
      fill();
    }
    const auto some = std::min(bytes, static_cast<std::int64_t>(buffer_valid_ - buffer_next_));
    std::memcpy(to, buffer_.data() + buffer_next_, static_cast<std::size_t>(some));
    buffer_next_ += static_cast<std::size_t>(some);
    to += some;
    bytes -= some;
  }
}

void FileReader::fill() {
  stream_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_next_ = 0;
  buffer_valid_ = static_cast<std::size_t>(stream_.gcount());
  if (buffer_valid_ == 0) {
    throw InputError(path_, 0, "", "became shorter while it was read");
  }
  stream_.clear();
}

}  // namespace octavo::sim

// Reads numbers and texts of a binary file, little-endian, and never past its end. A file that ends
// early is an InputError that says what was being read. One owner, one thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::sim {

class FileReader {
 public:
  /// Opens `path`. Raises InputError: missing, a directory, unreadable.
  explicit FileReader(const std::string& path);

  std::int64_t size() const { return size_; }
  std::int64_t position() const { return position_; }
  std::int64_t remaining() const { return size_ - position_; }
  const std::string& path() const { return path_; }

  /// An unsigned number of 1, 2, 4 or 8 bytes. `what` names it in messages; so for all below.
  std::uint64_t number(int bytes, std::string_view what);
  /// The same where it counts or measures something in the file: at most `max`.
  std::int64_t count(int bytes, std::int64_t max, std::string_view what);
  std::string text(std::int64_t bytes, std::string_view what);
  void skip(std::int64_t bytes, std::string_view what);

  [[noreturn]] void fail(std::string_view what, std::string_view wrong) const;

 private:
  void need(std::int64_t bytes, std::string_view what) const;
  void take(char* to, std::int64_t bytes);
  void fill();

  std::string path_;
  std::ifstream stream_;
  std::int64_t size_ = 0;
  std::int64_t position_ = 0;
  std::vector<char> buffer_;      ///< What was read ahead;
  std::size_t buffer_next_ = 0;   ///< of it the next byte to give,
  std::size_t buffer_valid_ = 0;  ///< and how many there are.
};

}  // namespace octavo::sim

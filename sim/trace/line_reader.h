// Lines of a file or of standard input, decompressed when need be, in a buffer that grows to the
// longest line and no further.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "byte_source.h"

namespace octavo::sim {

/// A longer line is refused: it is no trace, and would be read into memory whole.
inline constexpr std::size_t kLineBytesMax = std::size_t{64} << 20;

/// The same of a document of many lines.
inline constexpr std::size_t kDocumentBytesMax = std::size_t{1} << 30;

class LineReader {
 public:
  /// Opens `path`, or standard input for "-". Raises InputError for a missing file or a directory.
  explicit LineReader(const std::string& path);

  /// The next line that is not blank, without its line end (LF or CRLF; the last line may lack it).
  /// The view holds until the next call. Returns false at the end; raises InputError when reading
  /// fails or a line is too long.
  bool next(std::string_view& line);

  /// The next line, blank or not; otherwise like `next`.
  bool next_any(std::string_view& line);

  /// The 64 KiB from the beginning of the line returned last, or less at the end of the file; more
  /// when more has been read. The view holds until the next call, that of the line no longer.
  std::string_view lookahead();

  /// From the beginning of the line returned last to the end of the file, which is read into memory
  /// whole. Raises InputError for more than kDocumentBytesMax. The view holds as long as the reader
  /// is left alone.
  std::string_view document();

  /// Lets the next call of `next` return the same line again.
  void unread() noexcept { again_ = true; }

  /// The path, or "<stdin>".
  const std::string& name() const noexcept { return name_; }

  /// Number of the line that `next` returned last, from 1; blank lines count.
  std::int64_t line() const noexcept { return line_; }

 private:
  bool next_raw(std::string_view& line);
  void check_length(std::size_t length) const;
  void fill();

  std::string name_;
  std::unique_ptr<ByteSource> bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // buffer_[begin_, end_) has been read from the file but not returned.
  std::size_t end_ = 0;
  std::string_view current_;
  std::int64_t line_ = 0;
  bool again_ = false;
  bool at_end_ = false;  // The file has no more bytes.
};

}  // namespace octavo::sim

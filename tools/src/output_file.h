// A file that is there whole or not at all.
#pragma once

#include <fstream>
#include <ostream>
#include <string>

namespace octavo::tools {

/// Where a command writes its data: standard output for "-", else a temporary file beside the one
/// asked for, which takes its place when `commit` is called and is removed when it is not. What
/// exists and is no regular file (a pipe, /dev/null) is written to directly.
class OutputFile {
 public:
  /// `option` names the file in messages. Throws UsageError when it cannot be written.
  OutputFile(const std::string& option, const std::string& path, std::ostream& standard_output);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() noexcept { return *stream_; }

  /// Throws std::runtime_error when not everything could be written.
  void commit();

 private:
  std::string path_;
  std::string written_;  // The temporary file, or `path_`; empty for standard output.
  std::ofstream file_;
  std::ostream* stream_;
};

}  // namespace octavo::tools

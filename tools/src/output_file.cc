#include "output_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "command.h"
#include <unistd.h>

namespace octavo::tools {

OutputFile::OutputFile(const std::string& option,
                       const std::string& path,
                       std::ostream& standard_output)
    : path_(path), stream_(&standard_output) {
  if (path == "-") {
    return;
  }
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  const bool is_special =
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  written_ = is_special ? path : path + "." + std::to_string(getpid()) + ".tmp";
  errno = 0;
  file_.open(written_, std::ios::binary);
  if (!file_) {
    const std::string why = std::generic_category().message(errno);
    written_.clear();
    throw UsageError(option + ": cannot write " + path + ": " + why);
  }
  stream_ = &file_;
}

OutputFile::~OutputFile() {
  if (!written_.empty() && written_ != path_) {
    file_.close();
    std::remove(written_.c_str());
  }
}

void OutputFile::commit() {
  if (written_.empty()) {
    return;  // The program flushes and checks its standard output itself.
  }
  errno = 0;
  file_.close();
  if (!file_ || (written_ != path_ && std::rename(written_.c_str(), path_.c_str()) != 0)) {
    throw std::runtime_error("cannot write " + path_ + ": " +
                             std::generic_category().message(errno));
  }
  written_.clear();
}

}  // namespace octavo::tools

#include "byte_source.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "decompress.h"
#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

std::string error_text(int error) {
  return std::generic_category().message(error);
}

// A file as it lies, the first bytes of which can be looked at.
class FileBytes final : public ByteSource {
 public:
  FileBytes(const std::string& path, std::string name) : name_(std::move(name)) {
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
    held_ = read_file(first_, sizeof first_);
  }

  std::size_t read(char* to, std::size_t size) override {
    if (given_ < held_) {
      const std::size_t bytes = size < held_ - given_ ? size : held_ - given_;
      std::memcpy(to, first_ + given_, bytes);
      given_ += bytes;
      return bytes;
    }
    return read_file(to, size);
  }

  std::string_view first() const { return {first_, held_}; }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept {
      if (file != stdin) {
        std::fclose(file);
      }
    }
  };

  std::size_t read_file(char* to, std::size_t size) {
    const std::size_t bytes = std::fread(to, 1, size, file_.get());
    if (bytes == 0 && std::ferror(file_.get()) != 0) {
      throw InputError(name_, 0, "", "cannot be read: " + error_text(errno));
    }
    return bytes;
  }

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  char first_[4] = {};
  std::size_t held_ = 0;   // Bytes of first_ that the file has.
  std::size_t given_ = 0;  // Bytes of first_ that have been handed out.
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path, const std::string& name) {
  auto file = std::make_unique<FileBytes>(path, name);
  const std::string_view first = file->first();
  if (first.substr(0, kGzipMagic.size()) == kGzipMagic) {
    return gunzip(std::move(file), name);
  }
  if (first == kZstdMagic) {
    return unzstd(std::move(file), name);
  }
  return file;
}

}  // namespace octavo::sim

// Writes small safetensors and GGUF files for tests, byte by byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace octavo::sim::testing {

/// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("octavo_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i) & 0xff);
  }
  return text;
}

/// A safetensors file of the header's text and as many bytes of data.
inline std::string safetensors(const std::string& header, std::size_t data_bytes) {
  return little_endian(header.size(), 8) + header + std::string(data_bytes, '\1');
}

class GgufWriter {
 public:
  GgufWriter& text(const std::string& key, const std::string& value) {
    return entry(key, 8, string(value));
  }
  GgufWriter& number(const std::string& key, std::uint32_t value) {
    return entry(key, 4, little_endian(value, 4));
  }
  GgufWriter& numbers(const std::string& key, const std::vector<std::uint32_t>& values) {
    std::string bytes = little_endian(4, 4) + little_endian(values.size(), 8);
    for (const std::uint32_t value : values) {
      bytes += little_endian(value, 4);
    }
    return entry(key, 9, bytes);
  }
  GgufWriter& texts(const std::string& key, std::size_t count) {
    std::string bytes = little_endian(8, 4) + little_endian(count, 8);
    for (std::size_t i = 0; i < count; ++i) {
      bytes += string("t" + std::to_string(i));
    }
    return entry(key, 9, bytes);
  }
  /// `bytes` is what the type and extents give.
  GgufWriter& tensor(const std::string& name,
                     const std::vector<std::uint64_t>& extents,
                     std::uint32_t type,
                     std::uint64_t bytes) {
    infos_ += string(name) + little_endian(extents.size(), 4);
    for (const std::uint64_t extent : extents) {
      infos_ += little_endian(extent, 8);
    }
    infos_ += little_endian(type, 4) + little_endian(data_.size(), 8);
    data_ += std::string(bytes, '\1');
    data_.resize((data_.size() + 31) / 32 * 32);
    ++tensors_;
    return *this;
  }
  std::string bytes(std::uint32_t version = 3) const {
    std::string file = "GGUF" + little_endian(version, 4) + little_endian(tensors_, 8) +
                       little_endian(entries_, 8) + metadata_ + infos_;
    file.resize((file.size() + 31) / 32 * 32);
    return file + data_;
  }

 private:
  static std::string string(const std::string& value) {
    return little_endian(value.size(), 8) + value;
  }
  GgufWriter& entry(const std::string& key, std::uint32_t type, const std::string& value) {
    metadata_ += string(key) + little_endian(type, 4) + value;
    ++entries_;
    return *this;
  }

  std::string metadata_;
  std::string infos_;
  std::string data_;
  std::uint64_t entries_ = 0;
  std::uint64_t tensors_ = 0;
};

}  // namespace octavo::sim::testing

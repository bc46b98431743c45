// The bytes of a file or of standard input; what gzip or Zstandard compressed comes out as what it
// holds, decompressed as it is asked for.
//
// Memory is a window: 64 KiB of compressed bytes, and what the decoder keeps (32 KiB for gzip, at
// most 128 MiB for Zstandard, whose longer windows are refused).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace octavo::sim {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Puts at most `size` > 0 bytes at `to` and returns how many; 0 only at the end. Raises
  /// InputError when the file cannot be read, or ends or breaks inside of compressed data.
  virtual std::size_t read(char* to, std::size_t size) = 0;

 protected:
  ByteSource() = default;
};

/// Opens `path`, or standard input for "-"; errors call it `name`. Raises InputError for a missing
/// file or a directory.
std::unique_ptr<ByteSource> open_bytes(const std::string& path, const std::string& name);

}  // namespace octavo::sim

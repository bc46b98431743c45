// Byte sources that decompress another one. Concatenated gzip members and Zstandard frames are one
// stream; bytes behind the last one that are neither are refused.
#pragma once

#include <memory>
#include <string>

#include "byte_source.h"

namespace octavo::sim {

std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> from, const std::string& name);
std::unique_ptr<ByteSource> unzstd(std::unique_ptr<ByteSource> from, const std::string& name);

}  // namespace octavo::sim

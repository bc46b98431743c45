// HostIds: token or slot ids of a tensor, where the host can read them.
//
// Ids on a device that the host cannot read are fetched, which waits for the device; others are
// read in place. The object keeps the tensor alive.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/uploader.h"
#include "octavo/tensor.h"

namespace octavo::cache {

class HostIds {
 public:
  /// `buffer` holds fetched ids and must outlive the object.
  /// Raises InvalidArgument, naming `call` and `argument`, unless `ids` is a contiguous Int32
  /// vector; what the device raises.
  HostIds(const char* call,
          const char* argument,
          Tensor ids,
          std::vector<std::int32_t>& buffer,
          Counters& counters);

  std::span<const std::int32_t> span() const noexcept { return span_; }

 private:
  Tensor ids_;
  std::span<const std::int32_t> span_;
};

}  // namespace octavo::cache

// Random steps of the row writer: keys and values, strides, places, as images of memory that can be
// put on any device, and what the images are after appending there.
#pragma once

#include <cstdint>
#include <memory>

#include "device_bytes.h"
#include "octavo/device.h"
#include "octavo/device_ops.h"

#include "tests/ref_cpu/numerics/samples.h"

namespace octavo::cuda_test {

using numerics_test::Random;

/// A kind of row and the kind of what is stored in it.
struct RowKind {
  DType from = DType::F32;
  DType to = DType::F32;
  KVScale scale = KVScale::PerTokenHead;
  std::int64_t head_dim = 8;
};

enum class StepShape { Decode, Mixed, Prefill };

/// Keys or values: `rows` and `from` lack their addresses.
struct AppendPart {
  KVRowsArg rows = {};
  StepOperandArg from = {};
  Bytes data;
  Bytes scales;
  Bytes input;
  std::int64_t data_offset = 0;  ///< Of the first row in `data`; and so on.
  std::int64_t scales_offset = 0;
  std::int64_t input_offset = 0;
};

struct AppendCase {
  AppendPart keys;
  AppendPart values;
  KVStepArg step = {};  ///< Lacks its addresses.
  Bytes cu_seqlens_q;
  Bytes cu_seqlens_k;
  Bytes block_table;
  std::int64_t kv_heads = 0;
  std::int64_t blocks = 0;
};

AppendCase random_case(Random& random, const RowKind& keys, const RowKind& values, StepShape shape);

/// All memory that an append may have written: data and scales of keys and values.
struct Written {
  Bytes key_data;
  Bytes key_scales;
  Bytes value_data;
  Bytes value_scales;
  friend bool operator==(const Written&, const Written&) = default;
};

/// Puts a case on a device and keeps it there.
class LoadedCase {
 public:
  LoadedCase(const AppendCase& test, const std::shared_ptr<Device>& device);
  const AppendArg& arg() const { return arg_; }
  /// The first tokens as those of a slot: as many as fit a block.
  StoreCrossArg cross(std::int64_t slot) const;
  Written read() const;

 private:
  DeviceBytes key_data_, key_scales_, key_;
  DeviceBytes value_data_, value_scales_, value_;
  DeviceBytes cu_seqlens_q_, cu_seqlens_k_, block_table_;
  AppendArg arg_;
};

}  // namespace octavo::cuda_test

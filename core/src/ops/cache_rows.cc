#include "ops/cache_rows.h"

#include <string>

#include "octavo/error.h"

namespace octavo {
namespace {

DType dtype_of(const OpCheck& check, const char* argument, const Tensor& rows, KVCodec codec) {
  switch (codec) {
    case KVCodec::None:
      check.require_dtype(argument, rows, {DType::F32, DType::F16, DType::BF16});
      return rows.dtype();
    case KVCodec::Int8:
      check.require_dtype(argument, rows, {DType::Int8});
      return DType::Int8;
    case KVCodec::Int4:
      check.require_dtype(argument, rows, {DType::UInt8});
      return DType::Int4;
    case KVCodec::E4M3:
      check.require_dtype(argument, rows, {DType::E4M3});
      return DType::E4M3;
    case KVCodec::E5M2:
      check.require_dtype(argument, rows, {DType::E5M2});
      return DType::E5M2;
  }
  check.refuse(argument, "has an unknown codec");
}

void check_scales(OpCheck& check, const char* scales, const Tensor& rows, const KVRowInfo& info) {
  if (info.codec == KVCodec::None) {
    return;
  }
  check.require_defined(scales, info.scales);
  check.require_dtype(scales, info.scales, {DType::F32});
  if (info.scale == KVScale::Static) {
    check.require_shape(scales, info.scales, {rows.size(1)});
  } else {
    check.require_shape(scales, info.scales, {rows.size(0), rows.size(1), rows.size(2)});
  }
}

KVRowsArg check_half(OpCheck& check,
                     const char* argument,
                     const char* scales_name,
                     const Tensor& rows) {
  check.require_defined(argument, rows);
  if (rows.row_info() == nullptr) {
    check.refuse(ErrorCode::FailedPrecondition, argument,
                 "has no row information; it must be a handle that the cache gave out");
  }
  const KVRowInfo& info = *rows.row_info();
  check.require_shape(argument, rows, {OpCheck::kAny, OpCheck::kAny, OpCheck::kAny, OpCheck::kAny});
  const DType dtype = dtype_of(check, argument, rows, info.codec);
  check_scales(check, scales_name, rows, info);
  const std::int64_t head_dim = rows.size(3) * (dtype == DType::Int4 ? 2 : 1);
  if (head_dim < 8 || head_dim % 8 != 0 || head_dim > kMaxHeadDim) {
    check.refuse(argument, "has rows of " + std::to_string(head_dim) +
                               " elements; the operations take multiples of 8 in [8, " +
                               std::to_string(kMaxHeadDim) + "]");
  }
  const std::int64_t element_bytes = bytes_per_element(rows.dtype());
  KVRowsArg arg{.data = rows.address(),
                .dtype = dtype,
                .codec = info.codec,
                .scale = info.scale,
                .head_dim = head_dim,
                .block_stride_bytes = rows.strides()[0] * element_bytes,
                .head_stride_bytes = rows.strides()[1] * element_bytes,
                .row_stride_bytes = rows.strides()[2] * element_bytes};
  if (info.codec != KVCodec::None) {
    arg.scales = static_cast<float*>(info.scales.address());
    const bool per_token = info.scale == KVScale::PerTokenHead;
    arg.scale_block_stride = per_token ? info.scales.strides()[0] : 0;
    arg.scale_head_stride = per_token ? info.scales.strides()[1] : 1;
  }
  return arg;
}

}  // namespace

CacheRows check_rows(OpCheck& check, const Tensor& key_cache, const Tensor& value_cache) {
  CacheRows rows;
  rows.keys = check_half(check, "key_cache", "key_cache's scales", key_cache);
  rows.values = check_half(check, "value_cache", "value_cache's scales", value_cache);
  rows.info = key_cache.row_info().get();
  const KVRowInfo& values = *value_cache.row_info();
  const KVRowInfo& keys = *rows.info;
  if (keys.kind == KVLayerKind::State) {
    check.refuse(ErrorCode::FailedPrecondition, "key_cache",
                 "belongs to a State row; it must be an AttentionKV or CrossAttentionKV row");
  }
  if (keys.kind != values.kind || keys.layout != values.layout ||
      keys.capacity != values.capacity || keys.block_size != values.block_size ||
      keys.window != values.window) {
    check.refuse(ErrorCode::FailedPrecondition, "value_cache",
                 "is of another kind, layout, size or window than key_cache; both must be handles "
                 "of one row");
  }
  check.require_shape("value_cache", value_cache,
                      {key_cache.size(0), key_cache.size(1), key_cache.size(2), OpCheck::kAny});
  rows.blocks = key_cache.size(0);
  rows.kv_heads = key_cache.size(1);
  return rows;
}

}  // namespace octavo

// Tensor: a shared handle to a strided array on some device.
//
// A handle is dtype, shape, strides, a byte offset and a share of the storage; copying it copies no
// element and allocates nothing. The storage returns to its device when the last handle goes. Views
// (`select`, `slice`, `reshape`) share the storage, so writing through one shows in the others.
//
// A default-constructed handle is undefined: it has no storage, rank 0, and only `defined`,
// assignment and destruction are legal on it; the rest raises InvalidArgument.
//
// Two Int4 elements share a byte and cannot be addressed; a tensor holds them as UInt8 whose last
// dimension is half as long.
//
// Threads: handles may be copied and dropped from any thread; the elements are not synchronised.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "octavo/device.h"
#include "octavo/dims.h"
#include "octavo/dtype.h"

namespace octavo {

struct KVRowInfo;

/// Whether a C++ type is the element of `dtype`: float, int32_t, int8_t and uint8_t of theirs,
/// uint16_t the bits of F16 and BF16, uint8_t also the bits of E4M3 and E5M2.
template <typename T>
constexpr bool is_element_of(DType dtype) {
  if constexpr (std::is_same_v<T, float>) {
    return dtype == DType::F32;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return dtype == DType::Int32;
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    return dtype == DType::Int8;
  } else if constexpr (std::is_same_v<T, std::uint16_t>) {
    return dtype == DType::F16 || dtype == DType::BF16;
  } else {
    static_assert(std::is_same_v<T, std::uint8_t>, "no DType has elements of this type");
    return dtype == DType::UInt8 || dtype == DType::E4M3 || dtype == DType::E5M2;
  }
}

class Tensor {
 public:
  Tensor() = default;

  /// A contiguous tensor of zeros on `device` (null: the host); one call of Device::allocate.
  /// Raises InvalidArgument for Int4, a negative dimension, or a size beyond 64 bits; and what the
  /// device raises.
  static Tensor zeros(DType dtype, const Dims& shape, std::shared_ptr<Device> device = nullptr);

  /// A contiguous tensor of the given elements. Raises also InvalidArgument when `T` is no element
  /// of `dtype` or the count is not that of the shape.
  template <typename T>
  static Tensor from_values(DType dtype,
                            const Dims& shape,
                            std::span<const T> values,
                            std::shared_ptr<Device> device = nullptr) {
    return from_bytes(dtype, shape, values.data(), values.size(), is_element_of<T>(dtype),
                      std::move(device));
  }

  bool defined() const noexcept { return storage_ != nullptr; }
  DType dtype() const noexcept { return dtype_; }
  const Dims& shape() const noexcept { return shape_; }
  const Dims& strides() const noexcept { return strides_; }  ///< In elements.
  std::size_t rank() const noexcept { return shape_.size(); }
  /// Raises InvalidArgument for `dim` outside [0, rank).
  std::int64_t size(int dim) const;
  std::int64_t num_elements() const noexcept;
  std::int64_t size_bytes() const;  ///< Of the elements, whatever lies between them.
  std::int64_t byte_offset() const noexcept { return byte_offset_; }  ///< Into the storage.
  std::int64_t storage_bytes() const;
  bool is_contiguous() const noexcept;
  bool shares_storage_with(const Tensor& other) const noexcept;
  const std::shared_ptr<Device>& device() const;

  /// The first element's address on the device; null on a device without memory.
  void* address() const;

  /// The elements on a device that the host can read.
  /// Raises InvalidArgument when `T` is no element of dtype(); FailedPrecondition when the device
  /// is not host accessible.
  template <typename T>
  T* data() const {
    return static_cast<T*>(host_address(is_element_of<T>(dtype_)));
  }

  /// Row-major copy of a contiguous tensor, from any device (blocking).
  /// Raises as `data`, and FailedPrecondition for a tensor that is not contiguous.
  template <typename T>
  std::vector<T> to_vector() const {
    require_element(is_element_of<T>(dtype_), "to_vector");
    std::vector<T> values(static_cast<std::size_t>(num_elements()));
    download(values.data());
    return values;
  }

  /// The view at `index` of dimension `dim`, which it drops. Raises InvalidArgument outside ranges.
  Tensor select(int dim, std::int64_t index) const;

  /// The view of [begin, end) of dimension `dim`. Raises InvalidArgument unless
  /// 0 <= begin <= end <= size(dim).
  Tensor slice(int dim, std::int64_t begin, std::int64_t end) const;

  /// The same elements in another shape. Raises InvalidArgument for another number of elements,
  /// FailedPrecondition for a tensor that is not contiguous.
  Tensor reshape(const Dims& shape) const;

  /// What a row of a cache tells the operations; null for a plain tensor and for views of a row.
  const std::shared_ptr<const KVRowInfo>& row_info() const noexcept { return row_info_; }
  Tensor with_row_info(std::shared_ptr<const KVRowInfo> row_info) const;

 private:
  class Storage;

  static Tensor from_bytes(DType dtype,
                           const Dims& shape,
                           const void* values,
                           std::size_t count,
                           bool is_element,
                           std::shared_ptr<Device> device);
  void require_defined(std::string_view call) const;
  void require_element(bool is_element, std::string_view call) const;
  std::size_t checked_dim(int dim, std::string_view call) const;
  void* host_address(bool is_element) const;
  void download(void* dst) const;

  std::shared_ptr<const Storage> storage_;
  std::shared_ptr<const KVRowInfo> row_info_;
  std::int64_t byte_offset_ = 0;
  Dims shape_;
  Dims strides_;
  DType dtype_ = DType::UInt8;
};

/// Bytes of a contiguous tensor: what `Tensor::zeros` asks its device for.
/// Raises InvalidArgument as `Tensor::zeros`; the message begins with `what`.
std::int64_t tensor_bytes(DType dtype, const Dims& shape, std::string_view what);

}  // namespace octavo

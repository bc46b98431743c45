#include "octavo/tensor.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "base/checked.h"
#include "octavo/error.h"

namespace octavo {
namespace {

Dims contiguous_strides(const Dims& shape) {
  Dims strides = shape;
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max(shape[i], std::int64_t{1});
  }
  return strides;
}

}  // namespace

// One allocation of a device; returned when the last handle goes.
class Tensor::Storage {
 public:
  Storage(std::shared_ptr<Device> device, std::int64_t size_bytes)
      : device_(std::move(device)), size_bytes_(size_bytes), data_(device_->allocate(size_bytes)) {}
  ~Storage() { device_->deallocate(data_, size_bytes_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  const std::shared_ptr<Device>& device() const noexcept { return device_; }
  std::int64_t size_bytes() const noexcept { return size_bytes_; }
  void* data() const noexcept { return data_; }

 private:
  std::shared_ptr<Device> device_;
  std::int64_t size_bytes_;
  void* data_;
};

std::int64_t tensor_bytes(DType dtype, const Dims& shape, std::string_view what) {
  const std::string tensor =
      std::string(what) + ": shape " + to_string(shape) + " of " + std::string(to_string(dtype));
  if (dtype == DType::Int4) {
    throw Error(ErrorCode::InvalidArgument,
                tensor + " is stored as uint8 with the last dimension halved");
  }
  for (const std::int64_t dim : shape) {
    if (dim < 0) {
      throw Error(ErrorCode::InvalidArgument,
                  tensor + " has a negative dimension; each must be >= 0");
    }
  }
  // Dimensions of 0 are left out here: they would hide strides that do not fit.
  std::int64_t bytes = bytes_per_element(dtype);
  bool is_empty = false;
  for (const std::int64_t dim : shape) {
    is_empty = is_empty || dim == 0;
    bytes = checked_mul(bytes, std::max(dim, std::int64_t{1}), tensor);
  }
  return is_empty ? 0 : bytes;
}

Tensor Tensor::zeros(DType dtype, const Dims& shape, std::shared_ptr<Device> device) {
  const std::int64_t size_bytes = tensor_bytes(dtype, shape, "Tensor::zeros");
  if (device == nullptr) {
    device = host_device();
  }
  Tensor tensor;
  tensor.storage_ = std::make_shared<const Storage>(std::move(device), size_bytes);
  tensor.shape_ = shape;
  tensor.strides_ = contiguous_strides(shape);
  tensor.dtype_ = dtype;
  return tensor;
}

Tensor Tensor::from_bytes(DType dtype,
                          const Dims& shape,
                          const void* values,
                          std::size_t count,
                          bool is_element,
                          std::shared_ptr<Device> device) {
  const std::int64_t size_bytes = tensor_bytes(dtype, shape, "Tensor::from_values");
  if (!is_element) {
    throw Error(ErrorCode::InvalidArgument,
                "Tensor::from_values: the values' type is no element of dtype " +
                    std::string(to_string(dtype)));
  }
  if (static_cast<std::int64_t>(count) != size_bytes / bytes_per_element(dtype)) {
    throw Error(ErrorCode::InvalidArgument, "Tensor::from_values: " + std::to_string(count) +
                                                " values for shape " + to_string(shape));
  }
  Tensor tensor = zeros(dtype, shape, std::move(device));
  tensor.storage_->device()->copy_from_host(tensor.storage_->data(), values, size_bytes);
  return tensor;
}

void Tensor::require_defined(std::string_view call) const {
  if (!defined()) {
    throw Error(ErrorCode::InvalidArgument,
                "Tensor::" + std::string(call) + ": the tensor is undefined");
  }
}

void Tensor::require_element(bool is_element, std::string_view call) const {
  require_defined(call);
  if (!is_element) {
    throw Error(ErrorCode::InvalidArgument, "Tensor::" + std::string(call) +
                                                ": the requested type is no element of dtype " +
                                                std::string(to_string(dtype_)));
  }
}

std::size_t Tensor::checked_dim(int dim, std::string_view call) const {
  require_defined(call);
  if (dim < 0 || static_cast<std::size_t>(dim) >= rank()) {
    throw Error(ErrorCode::InvalidArgument, "Tensor::" + std::string(call) + ": dimension " +
                                                std::to_string(dim) + " is outside [0, " +
                                                std::to_string(rank()) + ")");
  }
  return static_cast<std::size_t>(dim);
}

std::int64_t Tensor::size(int dim) const {
  return shape_[checked_dim(dim, "size")];
}

std::int64_t Tensor::num_elements() const noexcept {
  std::int64_t count = defined() ? 1 : 0;
  for (const std::int64_t dim : shape_) {
    count *= dim;
  }
  return count;
}

std::int64_t Tensor::size_bytes() const {
  return num_elements() * bytes_per_element(dtype_);
}

std::int64_t Tensor::storage_bytes() const {
  require_defined("storage_bytes");
  return storage_->size_bytes();
}

bool Tensor::is_contiguous() const noexcept {
  if (num_elements() == 0) {
    return true;
  }
  std::int64_t step = 1;
  for (std::size_t i = rank(); i-- > 0;) {
    // The stride of a dimension of one element is never used.
    if (shape_[i] != 1 && strides_[i] != step) {
      return false;
    }
    step *= shape_[i];
  }
  return true;
}

bool Tensor::shares_storage_with(const Tensor& other) const noexcept {
  return defined() && storage_ == other.storage_;
}

const std::shared_ptr<Device>& Tensor::device() const {
  require_defined("device");
  return storage_->device();
}

void* Tensor::address() const {
  require_defined("address");
  auto* base = static_cast<std::byte*>(storage_->data());
  return base == nullptr ? nullptr : base + byte_offset_;
}

void* Tensor::host_address(bool is_element) const {
  require_element(is_element, "data");
  if (!storage_->device()->host_accessible()) {
    throw Error(ErrorCode::FailedPrecondition,
                "Tensor::data: the host cannot read memory of device '" +
                    std::string(storage_->device()->name()) + "'");
  }
  return address();
}

void Tensor::download(void* dst) const {
  if (!is_contiguous()) {
    throw Error(ErrorCode::FailedPrecondition, "Tensor::to_vector: shape " + to_string(shape_) +
                                                   " with strides " + to_string(strides_) +
                                                   " is not contiguous");
  }
  storage_->device()->copy_to_host(dst, address(), size_bytes());
}

Tensor Tensor::select(int dim, std::int64_t index) const {
  const std::size_t d = checked_dim(dim, "select");
  if (index < 0 || index >= shape_[d]) {
    throw Error(ErrorCode::InvalidArgument, "Tensor::select: index " + std::to_string(index) +
                                                " is outside [0, " + std::to_string(shape_[d]) +
                                                ")");
  }
  Tensor view = *this;
  view.byte_offset_ += index * strides_[d] * bytes_per_element(dtype_);
  view.shape_ = shape_.without(d);
  view.strides_ = strides_.without(d);
  view.row_info_.reset();
  return view;
}

Tensor Tensor::slice(int dim, std::int64_t begin, std::int64_t end) const {
  const std::size_t d = checked_dim(dim, "slice");
  if (begin < 0 || end < begin || end > shape_[d]) {
    throw Error(ErrorCode::InvalidArgument, "Tensor::slice: [" + std::to_string(begin) + ", " +
                                                std::to_string(end) + ") is outside [0, " +
                                                std::to_string(shape_[d]) + ")");
  }
  Tensor view = *this;
  view.byte_offset_ += begin * strides_[d] * bytes_per_element(dtype_);
  view.shape_[d] = end - begin;
  view.row_info_.reset();
  return view;
}

Tensor Tensor::reshape(const Dims& shape) const {
  require_defined("reshape");
  if (tensor_bytes(dtype_, shape, "Tensor::reshape") != size_bytes()) {
    throw Error(ErrorCode::InvalidArgument, "Tensor::reshape: shape " + to_string(shape_) +
                                                " has another number of elements than " +
                                                to_string(shape));
  }
  if (!is_contiguous()) {
    throw Error(ErrorCode::FailedPrecondition, "Tensor::reshape: shape " + to_string(shape_) +
                                                   " with strides " + to_string(strides_) +
                                                   " is not contiguous");
  }
  Tensor view = *this;
  view.shape_ = shape;
  view.strides_ = contiguous_strides(shape);
  view.row_info_.reset();
  return view;
}

Tensor Tensor::with_row_info(std::shared_ptr<const KVRowInfo> row_info) const {
  Tensor view = *this;
  view.row_info_ = std::move(row_info);
  return view;
}

}  // namespace octavo

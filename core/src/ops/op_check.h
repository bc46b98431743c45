// OpCheck: how an operation refuses a tensor. One object a call; it knows the call's name and the
// device that all tensors must share, and builds a message only when there is something to say.
//
// Threads: a value of one call.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "octavo/device_ops.h"
#include "octavo/error.h"
#include "octavo/tensor.h"

namespace octavo {

class OpCheck {
 public:
  /// Any extent of a dimension, in `require_shape`.
  static constexpr std::int64_t kAny = -1;

  explicit OpCheck(std::string_view call) : call_(call) {}

  /// Raises InvalidArgument: "call: argument sentence".
  [[noreturn]] void refuse(std::string_view argument, const std::string& sentence) const;
  [[noreturn]] void refuse(ErrorCode code,
                           std::string_view argument,
                           const std::string& sentence) const;

  /// Defined, and on the device of the tensors that were required before.
  void require_defined(std::string_view argument, const Tensor& tensor);

  /// The shape, extent by extent; the last dimension's elements adjacent.
  void require_shape(std::string_view argument,
                     const Tensor& tensor,
                     std::initializer_list<std::int64_t> shape) const;

  void require_dtype(std::string_view argument,
                     const Tensor& tensor,
                     std::initializer_list<DType> dtypes) const;
  void require_contiguous(std::string_view argument, const Tensor& tensor) const;

  /// All of the above for an operand of a step: defined, F32, F16 or BF16, of that shape.
  void require_operand(std::string_view argument,
                       const Tensor& tensor,
                       std::initializer_list<std::int64_t> shape);

  /// A contiguous Int32 vector of `size` elements.
  void require_index(std::string_view argument, const Tensor& tensor, std::int64_t size);

  /// `out` if it is defined and right (F32 or `dtype`), else a new tensor of `new_dtype`.
  Tensor result(const Tensor& out,
                DType dtype,
                DType new_dtype,
                std::initializer_list<std::int64_t> shape);

  Device& device() const { return *device_; }

 private:
  std::string_view call_;
  std::shared_ptr<Device> device_;
};

/// [T, heads, elements]: strides of the first two dimensions; [T, heads] likewise.
StepOperandArg step_operand(const Tensor& tensor);
StepResultArg step_result(const Tensor& tensor);
/// A contiguous parameter; the absent one of an undefined tensor.
WeightArg weight(const Tensor& tensor);

}  // namespace octavo

#include "ops/op_check.h"

#include <algorithm>

#include "octavo/error.h"

namespace octavo {

void OpCheck::refuse(std::string_view argument, const std::string& sentence) const {
  refuse(ErrorCode::InvalidArgument, argument, sentence);
}

void OpCheck::refuse(ErrorCode code, std::string_view argument, const std::string& sentence) const {
  throw Error(code, std::string(call_) + ": " + std::string(argument) + " " + sentence);
}

void OpCheck::require_defined(std::string_view argument, const Tensor& tensor) {
  if (!tensor.defined()) {
    refuse(argument, "is undefined");
  }
  if (device_ == nullptr) {
    device_ = tensor.device();
  } else if (device_ != tensor.device()) {
    refuse(argument, "is on the device \"" + std::string(tensor.device()->name()) +
                         "\", the tensors before it on another, \"" + std::string(device_->name()) +
                         "\"; all must share one device");
  }
}

void OpCheck::require_shape(std::string_view argument,
                            const Tensor& tensor,
                            std::initializer_list<std::int64_t> shape) const {
  const bool fits = tensor.rank() == shape.size() &&
                    std::equal(shape.begin(), shape.end(), tensor.shape().begin(),
                               [](std::int64_t wanted, std::int64_t extent) {
                                 return wanted == kAny || wanted == extent;
                               });
  if (!fits) {
    std::string wanted;
    for (const std::int64_t extent : shape) {
      wanted += wanted.empty() ? "[" : ", ";
      wanted += extent == kAny ? "any" : std::to_string(extent);
    }
    refuse(argument, "has shape " + to_string(tensor.shape()) + "; it must be " + wanted + "]");
  }
  if (tensor.rank() > 0 && tensor.shape().back() > 1 && tensor.strides().back() != 1) {
    refuse(argument, "has stride " + std::to_string(tensor.strides().back()) +
                         " in its last dimension; it must be 1");
  }
}

void OpCheck::require_dtype(std::string_view argument,
                            const Tensor& tensor,
                            std::initializer_list<DType> dtypes) const {
  if (std::find(dtypes.begin(), dtypes.end(), tensor.dtype()) != dtypes.end()) {
    return;
  }
  std::string legal;
  for (const DType dtype : dtypes) {
    legal += legal.empty() ? "" : ", ";
    legal += to_string(dtype);
  }
  refuse(argument,
         "has dtype " + std::string(to_string(tensor.dtype())) + "; it must be one of " + legal);
}

void OpCheck::require_contiguous(std::string_view argument, const Tensor& tensor) const {
  if (!tensor.is_contiguous()) {
    refuse(argument, "is not contiguous; it must be");
  }
}

void OpCheck::require_operand(std::string_view argument,
                              const Tensor& tensor,
                              std::initializer_list<std::int64_t> shape) {
  require_defined(argument, tensor);
  require_dtype(argument, tensor, {DType::F32, DType::F16, DType::BF16});
  require_shape(argument, tensor, shape);
}

void OpCheck::require_index(std::string_view argument, const Tensor& tensor, std::int64_t size) {
  require_defined(argument, tensor);
  require_dtype(argument, tensor, {DType::Int32});
  require_shape(argument, tensor, {size});
}

Tensor OpCheck::result(const Tensor& out,
                       DType dtype,
                       DType new_dtype,
                       std::initializer_list<std::int64_t> shape) {
  if (!out.defined()) {
    return Tensor::zeros(new_dtype, Dims(shape), device_);
  }
  require_defined("out", out);
  if (out.dtype() != DType::F32) {
    require_dtype("out", out, {DType::F32, dtype});
  }
  require_shape("out", out, shape);
  return out;
}

StepOperandArg step_operand(const Tensor& tensor) {
  if (!tensor.defined()) {
    return {};
  }
  return {.data = tensor.address(),
          .dtype = tensor.dtype(),
          .token_stride = tensor.strides()[0],
          .head_stride = tensor.strides()[1]};
}

StepResultArg step_result(const Tensor& tensor) {
  return {.data = tensor.address(),
          .dtype = tensor.dtype(),
          .token_stride = tensor.strides()[0],
          .head_stride = tensor.strides()[1]};
}

WeightArg weight(const Tensor& tensor) {
  if (!tensor.defined()) {
    return {};
  }
  return {.data = tensor.address(), .dtype = tensor.dtype()};
}

}  // namespace octavo

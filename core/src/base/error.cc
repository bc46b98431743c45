#include "octavo/error.h"

namespace octavo {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "INVALID_ARGUMENT";
    case ErrorCode::FailedPrecondition:
      return "FAILED_PRECONDITION";
    case ErrorCode::ResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case ErrorCode::Unimplemented:
      return "UNIMPLEMENTED";
    case ErrorCode::DeviceError:
      return "DEVICE_ERROR";
    case ErrorCode::Internal:
      return "INTERNAL";
  }
  return "UNKNOWN";
}

}  // namespace octavo

// The one exception type of Octavo.
//
// Every call that refuses its arguments, its state or its resources throws an Error whose message
// names the call, the argument, its value and the legal range ("admit: slot 7 is outside [0, 4)").
// A call that throws has changed nothing observable.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace octavo {

enum class ErrorCode {
  InvalidArgument,     ///< A range, shape, slot or layer that no state would make legal.
  FailedPrecondition,  ///< Legal in another state: a slot that is not fresh, a wrong layout.
  ResourceExhausted,   ///< No block, memory or address space is left.
  Unimplemented,       ///< A legal request that this build cannot serve.
  DeviceError,         ///< A device call failed; see the call for what is still known.
  Internal,            ///< An invariant of Octavo's own is broken: a bug.
};

/// The code's name, e.g. "INVALID_ARGUMENT".
std::string_view to_string(ErrorCode code) noexcept;

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace octavo

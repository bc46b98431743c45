// What the tests of the plan share: how a refusal is looked at.
#pragma once

#include <functional>
#include <string>

#include "octavo/error.h"
#include <gtest/gtest.h>

namespace octavo::testing {

/// Runs `call`, which must raise an Error of `code`; returns its message, "" after a failure.
inline std::string raised(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was raised";
  return "";
}

}  // namespace octavo::testing

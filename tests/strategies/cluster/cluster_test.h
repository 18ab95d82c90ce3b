#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>

namespace nyala {

/// Runs f, which has to throw an Error (of class Expected) whose text has all of `parts`.
template <class Expected = InvalidArgumentError, class F>
void expect_error(F&& f, const std::vector<std::string>& parts) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown; expected " << testing::PrintToString(parts);
  } catch (const Expected& error) {
    for (const std::string& part : parts) EXPECT_THAT(error.what(), testing::HasSubstr(part));
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another class of error: " << error.what();
  }
}

}  // namespace nyala

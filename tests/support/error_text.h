#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>

namespace nyala {

/// The text of the exception of type E that `function` throws; fails the test if it throws none of that type.
template <class E, class Function>
std::string error_text(Function&& function) {
  try {
    function();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "an exception of another type: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

/// Expects an exception of type E whose text has all of `parts`.
template <class E = InvalidArgumentError, class Function>
void expect_error(Function&& function, const std::vector<std::string>& parts) {
  const std::string text = error_text<E>(std::forward<Function>(function));
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' in: " << text;
}

}  // namespace nyala

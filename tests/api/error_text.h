#pragma once

#include <string>

#include <gtest/gtest.h>

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

}  // namespace nyala

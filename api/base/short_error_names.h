#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nyala::detail {

/// The short names that Keras has for a loss and the metric of the same class, with the class: "mse" and
/// "MSE" of MeanSquaredError.
inline std::vector<std::pair<std::string, std::string>> short_error_names() {
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&](const char* lower, const char* upper, const char* class_name) {
    all.emplace_back(lower, class_name);
    all.emplace_back(upper, class_name);
  };
  add("bce", "BCE", "BinaryCrossentropy");
  add("mae", "MAE", "MeanAbsoluteError");
  add("mape", "MAPE", "MeanAbsolutePercentageError");
  add("mse", "MSE", "MeanSquaredError");
  add("msle", "MSLE", "MeanSquaredLogarithmicError");
  return all;
}

}  // namespace nyala::detail

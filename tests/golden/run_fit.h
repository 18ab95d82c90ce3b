#pragma once

#include <string>
#include <vector>

#include <nyala/tests/golden/make_model.h>

namespace nyala::golden {

inline constexpr Tolerance kFitTolerance = {.absolute = 2e-5, .relative = 1e-4};

/// Trains as a case of fit.json says and compares history, weights, optimizer state, predict and evaluate.
void check_fit(const Json& entry, std::vector<CallbackArgument> callbacks);

/// Names in order, and values.
void expect_logs(const Logs& got, const Json& expected, const std::string& what);

}  // namespace nyala::golden

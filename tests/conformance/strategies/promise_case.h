#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/model/model.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

/// Data of a training and how fit is called with it.
struct CaseData {
  Tensors x, y;
  FitConfig fit;
};

/// A training that has to give the same numbers under every strategy.
struct PromiseCase {
  std::string name;
  /// Makes and compiles the model; `dtype` is the policy of all layers, and input_dtype() of it that of
  /// inputs.
  std::function<Model(const std::string& dtype)> make;
  std::function<CaseData(DType dtype)> data;
};

const std::vector<PromiseCase>& promise_cases();
const PromiseCase& promise_case(const std::string& name);

/// Everything that a training leaves behind, by name.
using Outcome = std::map<std::string, std::vector<double>>;

/// Trains the case under `strategy` from a fixed seed, then evaluates and predicts. Fails the test if the
/// replicas' copies of a variable differ in a bit.
Outcome outcome_of(const PromiseCase& training, const Strategy& strategy, DTypePolicy policy);
Outcome outcome_of(const PromiseCase& training, const Strategy& strategy, DType dtype);

/// The dtype of data for layers of the policy `name`: that of their weights.
std::string input_dtype(const std::string& name);

/// Normally distributed numbers that depend on `key` alone.
Tensor random_numbers(uint64_t key, const Shape& shape, DType dtype);
/// Whole numbers in [0, bound).
Tensor random_labels(uint64_t key, int64_t count, uint64_t bound);

struct Difference {
  double largest = 0;  // absolute
  double allowed = 0;  // the largest part of the tolerance that was used: at most 1 for a pass
  std::string where;   // of the latter
};

/// Fails the test where names or lengths differ. The tolerance of float32 is 1e-5 + 1e-4 |expected|, of
/// float64 1e-10.
Difference difference_of(const Outcome& received, const Outcome& expected, DType dtype);

/// |received - expected| / |expected| over all values whose names begin so.
double relative_difference(const Outcome& received, const Outcome& expected, const std::string& names);

}  // namespace nyala

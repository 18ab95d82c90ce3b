#pragma once

#include <cstdint>
#include <vector>

namespace nyala {

/// What Keras' Discretization remembers of the numbers it has seen: values in order, each with a weight, of
/// which the quantiles follow within about `epsilon`.
class QuantileSummary {
 public:
  explicit QuantileSummary(double epsilon) : epsilon_(epsilon) {}

  /// Takes in more numbers.
  void add(std::vector<float> values);
  bool empty() const { return values_.empty(); }
  /// The `bins` - 1 numbers that cut what was seen into bins of about one size.
  std::vector<double> boundaries(int64_t bins) const;

 private:
  void compress(double epsilon);

  double epsilon_;
  std::vector<float> values_, weights_;
};

}  // namespace nyala

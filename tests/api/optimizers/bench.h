#pragma once

#include <string>
#include <vector>

#include <nyala/api/optimizers/all.h>

namespace nyala {

struct BenchOptions {
  std::vector<Shape> shapes = {{3, 5}, {7}, {70}};
  DType dtype = DType::float64;
  std::vector<Device> devices = {Device{}};
  bool share_weights = true;
  int slices = 1;
};

/// An optimizer on variables of its own in a ParameterStore, without model and strategy.
class Bench {
 public:
  Bench(const Optimizer& optimizer, BenchOptions options = {});

  /// One step with these gradients, one list per variable.
  void step(const std::vector<std::vector<double>>& gradients);
  /// Pseudo-random gradients, the same for the same step.
  std::vector<std::vector<double>> gradients(int step, double scale = 1.0) const;

  std::vector<double> weights(size_t variable, int copy = 0) const;
  std::vector<double> state(const std::string& name) const;

  Variables variables;
  Optimizer optimizer;
  std::shared_ptr<ParameterStore> store;

 private:
  BenchOptions options_;
};

std::vector<double> as_doubles(const Tensor& tensor);
Tensor from_doubles(const std::vector<double>& values, const Shape& shape, DType dtype);

/// The initial weights of variable `index`.
std::vector<double> initial_weights(size_t index, int64_t count);

}  // namespace nyala

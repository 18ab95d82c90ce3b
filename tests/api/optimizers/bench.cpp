#include <cmath>
#include <stdexcept>
#include <thread>

#include <nyala/tests/api/optimizers/bench.h>

namespace nyala {

using namespace nyala::detail;

std::vector<double> as_doubles(const Tensor& tensor) {
  return dispatch_arithmetic(tensor.dtype(), "bench", [&]<class T>(T) {
    const std::vector<T> values = tensor.to_vector<T>();
    return std::vector<double>(values.begin(), values.end());
  });
}

Tensor from_doubles(const std::vector<double>& values, const Shape& shape, DType dtype) {
  return dispatch_real(dtype, "bench", [&]<class T>(T) {
    return Tensor::from(std::vector<T>(values.begin(), values.end()), shape);
  });
}

std::vector<double> initial_weights(size_t index, int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(std::sin(0.7 * static_cast<double>(i) + static_cast<double>(index)));
  return values;
}

Bench::Bench(const Optimizer& given, BenchOptions options)
    : optimizer(given),
      store(ParameterStore::make(options.devices, options.share_weights)),
      options_(options) {
  for (size_t i = 0; i < options.shapes.size(); ++i) {
    const Shape& shape = options.shapes[i];
    const std::string name = i % 2 == 0 ? "kernel" : "bias";
    const Tensor initial = from_doubles(initial_weights(i, shape.num_elements()), shape, options.dtype);
    variables.push_back(
        store->create({.name = name,
                       .path = "layer_" + std::to_string(i) + "/" + name,
                       .shape = shape,
                       .dtype = options.dtype,
                       .initialize = [initial](const Tensor& value) { value.copy_from(initial); }}));
  }
  optimizer.node().build(*store, variables);
}

std::vector<std::vector<double>> Bench::gradients(int step, double scale) const {
  std::vector<std::vector<double>> result;
  for (const Variable& variable : variables) {
    std::vector<double>& values = result.emplace_back();
    for (int64_t i = 0; i < variable.shape().num_elements(); ++i)
      values.push_back(
          scale * std::cos(1.3 * static_cast<double>(i) + 2.1 * step + static_cast<double>(result.size())));
  }
  return result;
}

void Bench::step(const std::vector<std::vector<double>>& gradients) {
  BaseOptimizer& node = optimizer.node();
  const bool adds = node.accumulates_into_existing();
  for (int replica = 0; replica < store->num_local_replicas(); ++replica)
    for (size_t i = 0; i < variables.size(); ++i) {
      const Tensor place = store->gradient(replica, variables[i]);
      std::vector<double> values = gradients[i];
      const std::vector<double> before = as_doubles(place);
      for (size_t k = 0; k < values.size() && adds; ++k) values[k] += before[k];
      place.copy_from(from_doubles(values, variables[i].shape(), variables[i].dtype()));
    }
  if (!node.begin_step()) return node.end_gathering();
  for (int copy = 0; copy < store->num_weight_copies(); ++copy) {
    UpdatePlace place{store.get(), copy, copy, {}, options_.slices};
    place.parallel = [](int slices, const std::function<void(int)>& body) {
      std::vector<std::thread> threads;
      for (int slice = 1; slice < slices; ++slice) threads.emplace_back(body, slice);
      body(0);
      for (std::thread& thread : threads) thread.join();
    };
    node.apply(place);
  }
  node.end_step();
}

std::vector<double> Bench::weights(size_t variable, int copy) const {
  return as_doubles(variables.at(variable).value(static_cast<size_t>(copy)));
}

std::vector<double> Bench::state(const std::string& name) const {
  for (const OptimizerVariable& value : optimizer.node().variables_for_file())
    if (value.name == name) return as_doubles(value.value);
  throw std::runtime_error("no optimizer variable " + name);
}

}  // namespace nyala

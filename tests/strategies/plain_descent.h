#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/parameters/update_rule.h>

namespace nyala {

/// The plainest rule: weight -= rate * gradient. Counts how it is called.
class PlainDescent final : public UpdateRule {
 public:
  PlainDescent(Variables variables, double rate, int steps_per_update = 1)
      : variables_(std::move(variables)), rate_(rate), steps_per_update_(steps_per_update) {}

  const Variables& variables() const override { return variables_; }
  bool begin_step() override { return (steps + 1) % steps_per_update_ == 0; }
  bool accumulates_into_existing() const override { return steps % steps_per_update_ != 0; }
  void apply(const UpdatePlace& place) override {
    ++applied;
    for (const Segment& segment : detail::merged_segments(variables_)) {
      const DType dtype = variables_.front().dtype();
      const Tensor weight = place.store->weights(place.copy, dtype, segment);
      const Tensor gradient = place.store->gradients(place.gradient_replica, dtype, segment);
      weight.copy_from(ops::subtract(weight, (gradient * rate_)));
    }
    if (in_slices) place.parallel(place.num_slices, in_slices);
  }
  void end_step() override { ++steps; }
  void end_gathering() override { ++steps; }

  /// Called in every slice of apply().
  std::function<void(int)> in_slices;
  int steps = 0;
  int applied = 0;

 private:
  Variables variables_;
  double rate_;
  int steps_per_update_;
};

inline Variable make_variable(ParameterStore& store, const std::string& name, const Shape& shape,
                              double value, DType dtype = DType::float32) {
  VariableSpec spec;
  spec.name = spec.path = name;
  spec.shape = shape;
  spec.dtype = dtype;
  spec.initialize = [value](const Tensor& host) {
    host.copy_from(Tensor::full(host.shape(), value, host.dtype()));
  };
  return store.create(spec);
}

inline std::vector<float> floats(const Tensor& tensor) { return tensor.to_vector<float>(); }

}  // namespace nyala

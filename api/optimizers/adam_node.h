#pragma once

#include <functional>

#include <nyala/api/optimizers/base/optimizer_node.h>

namespace nyala {

/// The numbers of Adam's formula.
struct AdamNumbers {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
};

namespace detail {

/// What kAdamUpdate reads: alpha with its corrections, 1 - beta_1, 1 - beta_2, epsilon.
std::vector<double> adam_scalars(const AdamNumbers& numbers, int64_t step, double learning_rate, DType dtype);

}  // namespace detail

/// Adam and AdamW: the same formula, other options.
class AdamNode final : public OptimizerNode {
 public:
  AdamNode(std::string class_name, OptimizerOptions options, AdamNumbers numbers,
           std::function<void(FieldVisitor&)> fields)
      : OptimizerNode(std::move(options)),
        class_name_(std::move(class_name)),
        numbers_(numbers),
        fields_(std::move(fields)) {}
  std::string class_name() const override { return class_name_; }
  void fields(FieldVisitor& v) override { fields_(v); }
  std::vector<std::string> slot_names() const override;
  size_t interleaved_slots() const override { return 2; }
  std::vector<double> step_scalars(int64_t step, double learning_rate, DType dtype) const override;
  bool prepares() const override { return true; }
  void update(const UpdateRange& range) const override;

 private:
  std::string class_name_;
  AdamNumbers numbers_;
  std::function<void(FieldVisitor&)> fields_;
};

}  // namespace nyala

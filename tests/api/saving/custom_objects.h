#pragma once

#include <string>
#include <vector>

#include <nyala/api/constraints/constraint.h>
#include <nyala/api/initializers/initializer.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/base/stateful_metric.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/regularizers/regularizer.h>
#include <nyala/api/saving/config/custom_object.h>
#include <nyala/api/schedules/learning_rate.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/ops/base/dispatch.h>

/// One class of the user's of each kind, as tests/golden/areas/custom_objects.py has them for Keras.
namespace nyala::custom {

struct MyLossConfig {
  double alpha = 1.0;
  std::string name = "my_loss_class";
  void fields(FieldVisitor& v) { v.field("alpha", alpha); }
};
struct MyLoss : LossNode {
  using Config = MyLossConfig;
  explicit MyLoss(const Config& config = {}) : config_(config) {}
  std::string class_name() const override { return "MyLoss"; }
  std::string name() const override { return config_.name; }
  void fields(FieldVisitor& v) const override { Config(config_).fields(v); }
  Tensor per_sample(const Tensor& t, const Tensor& p) const override {
    return ops::mean(ops::square(t - p), {-1}) * config_.alpha;
  }

 private:
  Config config_;
};

/// factor * (largest prediction + mean of the predictions' sums), with one state that is a maximum.
struct MyMetricConfig {
  double factor = 1.0;
  std::string name = "my_metric";
  void fields(FieldVisitor& v) { v.field("factor", factor); }
};
struct MyMetric : StatefulMetric {
  using Config = MyMetricConfig;
  explicit MyMetric(const Config& config = {}) : config_(config) {}
  std::string class_name() const override { return "MyMetric"; }
  std::string name() const override { return config_.name; }
  void fields(FieldVisitor& v) const override { Config(config_).fields(v); }
  std::vector<MetricVariable> state() const override {
    return {{"largest", {}, StateAggregation::max, -1e30}, {"sums", {2, 1}}};
  }
  Tensors updated(const Tensors& s, const Tensor&, const Tensor& p, const Tensor&) const override {
    const Tensor rows = ops::reshape(ops::sum(p), {1, 1});
    const Tensor count = ops::zeros_like(rows) + static_cast<double>(p.shape()[0]);
    return {ops::maximum(s[0], ops::max(p)), s[1] + ops::concatenate({rows, count}, 0)};
  }
  Tensor value(const Tensors& s) const override {
    const std::vector<double> sums = s[1].to_vector<double>();
    return (s[0] + (sums[1] > 0 ? sums[0] / sums[1] : 0.0)) * config_.factor;
  }

 private:
  Config config_;
};

struct MyScheduleConfig {
  double rate = 0.1;
  void fields(FieldVisitor& v) { v.field("rate", rate); }
};
struct MySchedule : LearningRateScheduleNode {
  using Config = MyScheduleConfig;
  explicit MySchedule(const Config& config = {}) : config_(config) {}
  std::string class_name() const override { return "MySchedule"; }
  void fields(FieldVisitor& v) const override { Config(config_).fields(v); }
  double operator()(int64_t step) const override { return config_.rate / (1.0 + static_cast<double>(step)); }

 private:
  Config config_;
};

/// v = momentum * v + g, w -= learning_rate * v.
struct MyOptimizerConfig {
  LearningRate learning_rate = 0.01;
  double momentum = 0.5;
  std::string name = {};
  void fields(FieldVisitor& v) {
    v.field("learning_rate", learning_rate);
    v.field("momentum", momentum);
  }
};
struct MyOptimizer : OptimizerNode {
  using Config = MyOptimizerConfig;
  explicit MyOptimizer(const Config& config = {})
      : OptimizerNode({.learning_rate = config.learning_rate,
                       .name = config.name.empty() ? unique_name("MyOptimizer") : config.name}),
        config_(config) {}
  std::string class_name() const override { return "MyOptimizer"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override { return {"velocity"}; }
  std::vector<double> step_scalars(int64_t, double learning_rate, DType) const override {
    return {learning_rate};
  }
  void update(const UpdateRange& range) const override {
    const Tensor rate = ops::cast(range.scalars.rows(ops::kFirstFormulaScalar, 1), range.weight.dtype());
    const Tensor velocity = range.slot_tensors[0] * config_.momentum + range.gradient;
    const Tensor weight = range.weight - velocity * rate;
    range.slot_tensors[0].copy_from(velocity);
    range.weight.copy_from(weight);
  }

 private:
  Config config_;
};

struct MyFactor {
  double factor = 0.1;
  void fields(FieldVisitor& v) { v.field("factor", factor); }
};
struct MyRegularizer : RegularizerNode {
  using Config = MyFactor;
  explicit MyRegularizer(const Config& config = {}) : config_(config) {}
  std::string class_name() const override { return "MyRegularizer"; }
  void fields(FieldVisitor& v) const override { Config(config_).fields(v); }
  Tensor penalty(const Tensor& w) const override { return ops::sum(ops::square(w)) * config_.factor; }

 private:
  Config config_;
};
struct MyConstraint : ConstraintNode {
  using Config = MyFactor;
  explicit MyConstraint(const Config& config = {}) : config_(config) {}
  std::string class_name() const override { return "MyConstraint"; }
  void fields(FieldVisitor& v) const override { Config(config_).fields(v); }
  Tensor project(const Tensor& w) const override { return ops::clip(w, -config_.factor, config_.factor); }

 private:
  Config config_;
};
struct MyInitializer : InitializerNode {
  using Config = MyFactor;
  explicit MyInitializer(const Config& config = {}) : config_(config) {}
  std::string class_name() const override { return "MyInitializer"; }
  void fields(FieldVisitor& v) const override { Config(config_).fields(v); }
  void fill(const Tensor& value, DrawStream&) const override {
    value.copy_from(Tensor::full(value.shape(), config_.factor, value.dtype()));
  }

 private:
  Config config_;
};

inline Tensor my_activation(const Tensor& x) { return ops::relu(x) * 2.0; }
inline Tensor my_loss(const Tensor& t, const Tensor& p) { return ops::mean(ops::abs(t - p), {-1}); }

/// A model by subclassing with a setting and all of these in it.
struct NetConfig {
  int64_t units = 3;
  void fields(FieldVisitor& v) { v.field("units", units); }
};
struct Net : ModelNode {
  using Config = NetConfig;
  explicit Net(const Config& config = {}) : config_(config) {
    DenseConfig first;
    first.activation = my_activation;
    first.kernel_initializer = make_initializer<MyInitializer>(MyFactor{0.25});
    first.kernel_regularizer = make_regularizer<MyRegularizer>(MyFactor{0.02});
    first.bias_constraint = make_constraint<MyConstraint>(MyFactor{0.05});
    d_ = track("d", Dense(config.units, first));
    e_ = track("e", Dense(1));
  }
  std::string class_name() const override { return "Net"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  Tensor call(Call& c, const Tensor& x) const override { return e_(c, d_(c, x)); }

 private:
  Config config_;
  Layer d_, e_;
};

}  // namespace nyala::custom

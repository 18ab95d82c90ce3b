#include <nyala/api/layers/normalization.h>

#include <algorithm>
#include <cmath>

#include <nyala/api/layers/running_moments.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/binary.h>
#include <nyala/backend/ops/cast.h>
#include <nyala/backend/ops/exponential.h>
#include <nyala/backend/ops/shape.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

namespace {

/// Keras takes a list for each axis, and without axes a number.
void visit_statistics(FieldVisitor& v, const char* name, std::vector<double>& values, bool number) {
  if (!number) return v.field(name, values);
  double value = values.empty() ? kNoValue : values[0];
  v.optional(name, value);
  values = std::isnan(value) ? std::vector<double>() : std::vector<double>{value};
}

}  // namespace

void NormalizationConfig::fields(FieldVisitor& v) {
  visit_axes(v, "axis", axis);
  visit_statistics(v, "mean", mean, axis.list().empty());
  visit_statistics(v, "variance", variance, axis.list().empty());
  v.field("invert", invert);
}

namespace {

constexpr double kSmallestDeviation = 1e-7;

class NormalizationNode final : public LayerNode {
 public:
  explicit NormalizationNode(const NormalizationConfig& config) : config_(config) {
    if (config.mean.size() != config.variance.size())
      throw InvalidArgumentError("Normalization: expected as many variances as means, received " +
                                 std::to_string(config.mean.size()) + " means and " +
                                 std::to_string(config.variance.size()) + " variances");
    if (config.axis.list().empty() && config.mean.size() > 1)
      throw InvalidArgumentError("Normalization: expected one mean where there is no axis, received " +
                                 std::to_string(config.mean.size()));
  }
  std::string class_name() const override { return "Normalization"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  using LayerNode::build;
  void build(Builder& b, const Shape& input) override {
    sizes_ = TrailingAxes(config_.axis.list(), input).sizes(input);
    if (adapts()) {
      mean_ = b.state("mean", sizes_, "zeros");
      variance_ = b.state("variance", sizes_, "ones");
      state_.push_back(make_count());
      return;
    }
    const int64_t given = static_cast<int64_t>(config_.mean.size());
    if (given != 1 && given != sizes_.back())
      throw ShapeError("expected 1 or " + std::to_string(sizes_.back()) + " means and variances for shape " +
                       input.to_string() + ", received " + std::to_string(given));
  }

  using LayerNode::call;
  Tensor call(Call& c, const Tensor& input) const override {
    const Tensor x = ops::cast(input, dtype());
    const Tensor mean = statistics(c, mean_, config_.mean, x);
    const Tensor variance = statistics(c, variance_, config_.variance, x);
    const Tensor smallest = Tensor::full({}, kSmallestDeviation, x.dtype(), x.device());
    const Tensor deviation = ops::maximum(ops::sqrt(variance), smallest);
    return config_.invert ? mean + x * deviation : (x - mean) / deviation;
  }

  void adapt(const RunningMoments& moments) {
    set(mean_, moments.mean());
    set(variance_, moments.variance());
  }

  bool adapts() const { return config_.mean.empty(); }
  const std::vector<int>& axes() const { return config_.axis.list(); }
  /// Throws ShapeError where data of this shape has other kept axes than the layer was built for.
  void check_data(const Shape& shape) const {
    if (TrailingAxes(axes(), shape).sizes(shape) != sizes_)
      throw ShapeError("adapt: expected data whose kept axes have the sizes " + sizes_.to_string() +
                       ", received shape " + shape.to_string());
  }

 private:
  /// Keras' weights hold a count of int64 that nothing reads.
  Variable make_count() const {
    VariableSpec spec;
    spec.name = "count";
    spec.path = path() + "/count";
    spec.dtype = DType::int64;
    spec.trainable = false;
    spec.synchronization = Synchronization::on_read;
    spec.aggregation = Aggregation::only_first_replica;
    spec.initialize = [](const Tensor& value) { ops::fill_zero(value); };
    VariableCreator* creator = thread_context().creator;
    return creator ? creator->create(spec) : current_strategy()->store().create(spec);
  }

  /// With axes of size 1 where they are not kept.
  Tensor statistics(Call& c, const Variable& adapted, const std::vector<double>& given,
                    const Tensor& x) const {
    Tensor values;
    Shape along;
    for (int axis = 0; axis < x.rank(); ++axis) along.append(1);
    if (adapted) {
      values = c[adapted];
      for (const int axis : axes()) along.set(along.normalize_axis(axis), x.shape()[axis]);
    } else {
      values = ops::cast(Tensor::from(given), x.dtype()).to(x.device());
      int last = 0;
      for (const int axis : axes()) last = std::max(last, along.normalize_axis(axis));
      along.set(last, static_cast<int64_t>(given.size()));
    }
    return ops::reshape(values, along);
  }

  static void set(const Variable& variable, const std::vector<double>& values) {
    variable.assign(ops::cast(Tensor::from(values, variable.shape()), variable.dtype()));
  }

  NormalizationConfig config_;
  Shape sizes_;
  Variable mean_, variance_;
};

/// The node, ready to take statistics of data of this shape.
NormalizationNode& node_for(const Layer& layer, const Shape& shape) {
  auto& node = static_cast<NormalizationNode&>(layer.node());
  if (!node.adapts())
    throw StateError("Normalization '" + layer.name() +
                     "': mean and variance were given; adapt() needs a layer without them");
  node.ensure_built({shape.rank() > 0 ? shape.with(0, None) : shape});
  node.check_data(shape);
  return node;
}

}  // namespace

Normalization::Normalization(const Config& config)
    : Layer(finish_layer(std::make_shared<NormalizationNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

Normalization::Normalization(int axis, Config config)
    : Normalization([&] {
        config.axis = axis;
        return std::move(config);
      }()) {}

void Normalization::adapt(const Tensor& data) const {
  NormalizationNode& node = node_for(*this, data.shape());
  RunningMoments moments(node.axes());
  moments.add(data);
  if (moments.count() == 0)
    throw InvalidArgumentError("adapt: expected data, received an array of shape " +
                               data.shape().to_string());
  node.adapt(moments);
}

void Normalization::adapt(const Dataset& data) const {
  NormalizationNode* node = nullptr;
  RunningMoments moments(static_cast<NormalizationNode&>(this->node()).axes());
  for (const Batch& batch : data) {
    if (batch.x.size() != 1)
      throw InvalidArgumentError("adapt: expected elements of one x, received " +
                                 std::to_string(batch.x.size()));
    node = &node_for(*this, batch.x[0].shape());
    moments.add(batch.x[0]);
  }
  if (moments.count() == 0) throw InvalidArgumentError("adapt: expected data, received an empty dataset");
  node->adapt(moments);
}

}  // namespace nyala

// adapt() takes mean and variance in one pass over the data (RunningMoments), so data sets that do not fit in
// memory will do. As in Keras the deviation is at least 1e-7, so that a feature that never changes is not
// divided by zero, and the weights hold a count of int64 that nothing reads. Statistics that are given
// instead may have fewer axes than are kept: they are laid along the last ones.
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/normalization.h>

#include <algorithm>
#include <cmath>

#include <nyala/api/layers/base/running_moments.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Keras takes lists, nested for several axes, and without axes a number.
void visit_statistics(FieldVisitor& v, const char* name, std::vector<double>& values,
                      NormalizationConfig& config) {
  if (!config.axis.list().empty()) return v.nested(name, values, config.statistics_shape);
  const double before = values.empty() ? kNoValue : values[0];
  double value = before;
  v.optional(name, value);
  if (value == before || (std::isnan(value) && std::isnan(before))) return;
  values = std::isnan(value) ? std::vector<double>() : std::vector<double>{value};
}

}  // namespace

void NormalizationConfig::fields(FieldVisitor& v) {
  visit_axes(v, "axis", axis);
  visit_statistics(v, "mean", mean, *this);
  visit_statistics(v, "variance", variance, *this);
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
    const Shape shape(config.statistics_shape);
    if (shape.rank() > 0 && (shape.num_elements() != static_cast<int64_t>(config.mean.size()) ||
                             shape.rank() > static_cast<int>(config.axis.list().size())))
      throw InvalidArgumentError("Normalization: expected statistics_shape to be that of " +
                                 std::to_string(config.mean.size()) + " numbers along at most " +
                                 std::to_string(config.axis.list().size()) + " axes, received " +
                                 shape.to_string());
  }
  std::string class_name() const override { return "Normalization"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    sizes_ = TrailingAxes(config_.axis.list(), input).sizes(input);
    if (adapts()) {
      mean_ = b.state("mean", sizes_, "zeros");
      variance_ = b.state("variance", sizes_, "ones");
      state_.push_back(make_count());
      return;
    }
    if (config_.statistics_shape.empty()) find_statistics_shape(input);
    check_statistics_shape(input);
  }

  Tensor call(Call& c, const Tensor& input) const override {
    const Tensor x = ops::cast(input, compute_dtype());
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
  /// The fewest of the last kept axes that have as many entries.
  void find_statistics_shape(const Shape& input) {
    const auto given = static_cast<int64_t>(config_.mean.size());
    if (given == 1) return;
    int64_t entries = 1;
    for (int axis = sizes_.rank() - 1; axis >= 0; --axis) {
      entries *= sizes_[axis];
      config_.statistics_shape.insert(config_.statistics_shape.begin(), sizes_[axis]);
      if (entries == given) return;
    }
    config_.statistics_shape.clear();
    throw ShapeError("expected as many means and variances as the last kept axes of shape " +
                     input.to_string() + " have entries, or 1; received " + std::to_string(given));
  }

  void check_statistics_shape(const Shape& input) const {
    const std::vector<int64_t>& shape = config_.statistics_shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t size = sizes_[sizes_.rank() - static_cast<int>(shape.size() - i)];
      if (shape[i] != 1 && shape[i] != size)
        throw ShapeError("expected means and variances along the kept axes of shape " + input.to_string() +
                         ", received them of shape " + Shape(shape).to_string());
    }
  }

  /// Keras' weights hold a count of int64 that nothing reads.
  Variable make_count() const {
    VariableSpec spec;
    spec.name = "count";
    spec.path = path() + "/count";
    spec.dtype = DType::int64;
    spec.trainable = false;
    spec.synchronization = Synchronization::on_read;
    spec.aggregation = Aggregation::only_first_replica;
    spec.initialize = [](const Tensor& value) { ops::detail::fill_zero(value); };
    VariableCreator* creator = context_of_open_scopes().creator;
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
      std::vector<int> kept;
      for (const int axis : axes()) kept.push_back(along.normalize_axis(axis));
      std::sort(kept.begin(), kept.end());
      const std::vector<int64_t>& shape = config_.statistics_shape;
      for (size_t i = 0; i < shape.size(); ++i) along.set(kept[kept.size() - shape.size() + i], shape[i]);
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
    throw StateError("Normalization " + in_quotes(layer.name()) +
                     ": mean and variance were given; adapt() needs a layer without them");
  node.ensure_built({shape.rank() > 0 ? shape.with(0, None) : shape});
  node.check_data(shape);
  return node;
}

}  // namespace

Normalization::Normalization(const Config& config) : Layer(node_from<NormalizationNode>(config)) {}

Normalization::Normalization(int axis, Config config)
    : Normalization(with(std::move(config), &Config::axis, axis)) {}

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

// Glorot and Bengio 2010, He et al. 2015, LeCun et al. 1998 by one formula: a variance of scale over a fan. A
// cut normal has a smaller deviation than asked for, by which it is divided.
#include <algorithm>
#include <cmath>

#include <nyala/api/initializers/fill.h>
#include <nyala/api/initializers/variance_scaling.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/to_int.h>

namespace nyala {

using namespace nyala::detail;

void VarianceScalingConfig::fields(FieldVisitor& v) {
  v.field("scale", scale);
  v.field("mode", mode);
  v.field("distribution", distribution);
  v.optional("seed", seed, -1);
  v.field("input_axes", input_axes);
  v.field("output_axes", output_axes);
}

void FanInitializerConfig::fields(FieldVisitor& v) {
  v.optional("seed", seed, -1);
  v.field("input_axes", input_axes);
  v.field("output_axes", output_axes);
}

std::pair<int64_t, int64_t> detail::fans(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {shape[0], shape[0]};
  const int64_t field = shape.slice(0, shape.rank() - 2).num_elements();
  return {field * shape[-2], field * shape[-1]};
}

namespace {

/// The standard deviation of a standard normal cut at 2 (as Keras and scipy.stats.truncnorm(-2, 2).std() have
/// it).
constexpr double kTruncatedDeviation = 0.87962566103423978;

void expect_one_of(const char* field, const std::string& value, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), value) == names.end())
    throw InvalidArgumentError(std::string("VarianceScaling: expected ") + field + " to be one of " +
                               quoted_list(names) + ", received " + in_quotes(value) +
                               did_you_mean(value, names));
}

int64_t units(const Shape& shape, const std::vector<int64_t>& axes) {
  int64_t product = 1;
  for (int64_t axis : axes) product *= shape[static_cast<int>(axis)];
  return product;
}

class VarianceScalingNode final : public InitializerNode {
 public:
  VarianceScalingNode(std::string class_name, const VarianceScalingConfig& config)
      : class_name_(std::move(class_name)), config_(config) {
    if (!(config.scale > 0))
      throw InvalidArgumentError("VarianceScaling: expected scale > 0, received " +
                                 number_text(config.scale));
    expect_one_of("mode", config.mode, {"fan_in", "fan_out", "fan_avg"});
    expect_one_of("distribution", config.distribution, {"truncated_normal", "untruncated_normal", "uniform"});
    to_ints(config.input_axes, "input_axes");
    to_ints(config.output_axes, "output_axes");
  }
  std::string class_name() const override { return class_name_; }
  void fields(FieldVisitor& v) const override {
    if (class_name_ == "VarianceScaling") {
      auto shown = config_;
      return shown.fields(v);
    }
    FanInitializerConfig shown{config_.seed, config_.input_axes, config_.output_axes};
    shown.fields(v);
  }
  int64_t seed() const override { return config_.seed; }
  const std::string& name() const { return class_name_; }
  const VarianceScalingConfig& config() const { return config_; }

  void fill(const Tensor& value, DrawStream& random) const override {
    const double deviation = std::sqrt(config_.scale / std::max(1.0, fan(value.shape())));
    if (config_.distribution == "uniform") {
      const double limit = std::sqrt(3.0) * deviation;
      fill_each(value, [&] { return random.uniform(-limit, limit); });
    } else if (config_.distribution == "truncated_normal") {
      fill_each(value, [&] { return deviation / kTruncatedDeviation * random.truncated_normal(); });
    } else {
      fill_each(value, [&] { return deviation * random.normal(); });
    }
  }

 private:
  double fan(const Shape& shape) const {
    auto [in, out] = fans(shape);
    if (!config_.input_axes.empty() && !config_.output_axes.empty()) {
      in = units(shape, config_.input_axes);
      out = units(shape, config_.output_axes);
    }
    if (config_.mode == "fan_in") return static_cast<double>(in);
    if (config_.mode == "fan_out") return static_cast<double>(out);
    return static_cast<double>(in + out) / 2.0;
  }

  std::string class_name_;
  VarianceScalingConfig config_;
};

}  // namespace

VarianceScaling::VarianceScaling(const Config& config)
    : Initializer(std::make_shared<VarianceScalingNode>("VarianceScaling", config)) {}

Initializer detail::with_fan_axes(const Initializer& initializer, const std::vector<int64_t>& input_axes,
                          const std::vector<int64_t>& output_axes) {
  const auto* node = initializer ? dynamic_cast<const VarianceScalingNode*>(&initializer.node()) : nullptr;
  if (!node || (!node->config().input_axes.empty() && !node->config().output_axes.empty()))
    return initializer;
  VarianceScalingConfig config = node->config();
  config.input_axes = input_axes;
  config.output_axes = output_axes;
  return Initializer(std::make_shared<VarianceScalingNode>(node->name(), config));
}

Initializer detail::variance_scaling_variant(std::string class_name, VarianceScalingConfig fixed,
                                     const FanInitializerConfig& config) {
  fixed.seed = config.seed;
  fixed.input_axes = config.input_axes;
  fixed.output_axes = config.output_axes;
  return Initializer(std::make_shared<VarianceScalingNode>(std::move(class_name), fixed));
}

}  // namespace nyala

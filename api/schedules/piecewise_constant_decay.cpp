#include <algorithm>

#include <nyala/api/schedules/piecewise_constant_decay.h>
#include <nyala/backend/core/error.h>

namespace nyala {

void PiecewiseConstantDecayConfig::fields(FieldVisitor& v) {
  v.field("boundaries", boundaries);
  v.field("values", values);
}

namespace {

class PiecewiseConstantDecayNode final : public LearningRateScheduleNode {
 public:
  explicit PiecewiseConstantDecayNode(const PiecewiseConstantDecayConfig& config) : config_(config) {
    const size_t boundaries = config.boundaries.size(), values = config.values.size();
    if (boundaries + 1 != values)
      throw InvalidArgumentError(
          "PiecewiseConstantDecay: expected one value more than boundaries, received " +
          std::to_string(boundaries) + " boundaries and " + std::to_string(values) + " values");
    if (boundaries == 0) throw InvalidArgumentError("PiecewiseConstantDecay: expected at least one boundary");
    if (!std::is_sorted(config.boundaries.begin(), config.boundaries.end()))
      throw InvalidArgumentError("PiecewiseConstantDecay: expected boundaries in increasing order");
  }
  std::string class_name() const override { return "PiecewiseConstantDecay"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  double operator()(int64_t step) const override {
    size_t i = 0;
    while (i < config_.boundaries.size() && step > static_cast<int64_t>(config_.boundaries[i])) ++i;
    return static_cast<float>(config_.values[i]);
  }

 private:
  PiecewiseConstantDecayConfig config_;
};

}  // namespace

PiecewiseConstantDecay::PiecewiseConstantDecay(const Config& config)
    : LearningRate(std::make_shared<PiecewiseConstantDecayNode>(config)) {}

PiecewiseConstantDecay::PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values,
                                               Config config)
    : PiecewiseConstantDecay([&] {
        config.boundaries = std::move(boundaries);
        config.values = std::move(values);
        return config;
      }()) {}

}  // namespace nyala

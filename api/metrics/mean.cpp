#include <nyala/api/metrics/mean.h>
#include <nyala/api/metrics/mean_metric.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/metric_updates.h>

namespace nyala::metrics {

void MeanConfig::fields(FieldVisitor&) {}

namespace {

class MeanNode final : public MeanMetricNode {
 public:
  explicit MeanNode(const MeanConfig& config) : MeanMetricNode(config.name), config_(config) {}
  std::string class_name() const override { return "Mean"; }
  bool counts_masks() const override { return false; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  Tensor update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    if (y_pred.defined())
      throw InvalidArgumentError("Mean: expected values alone, received y_true and y_pred");
    const Tensor weights =
        sample_weight.defined() ? fit_weights(sample_weight, y_true.shape(), name()) : sample_weight;
    return ops::mean_update(y_true, weights);
  }
  bool has_direction() const override { return false; }

 private:
  MeanConfig config_;
};

}  // namespace

Mean::Mean(const Config& config) : Metric(std::make_shared<MeanNode>(config)) {}

}  // namespace nyala::metrics

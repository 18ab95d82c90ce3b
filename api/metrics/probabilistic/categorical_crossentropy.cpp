#include <nyala/api/losses/categorical_crossentropy.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/probabilistic/categorical_crossentropy.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void CategoricalCrossentropyConfig::fields(FieldVisitor& v) {
  v.field("from_logits", from_logits);
  v.field("label_smoothing", label_smoothing);
  v.field("axis", axis);
}

CategoricalCrossentropy::CategoricalCrossentropy(const Config& config)
    : Metric(make_loss_metric("CategoricalCrossentropy", config,
                              nyala::CategoricalCrossentropy({.from_logits = config.from_logits,
                                                              .label_smoothing = config.label_smoothing,
                                                              .axis = config.axis}))) {}

}  // namespace nyala::metrics

#include <nyala/api/losses/binary_crossentropy.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/probabilistic/binary_crossentropy.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void BinaryCrossentropyConfig::fields(FieldVisitor& v) {
  v.field("from_logits", from_logits);
  v.field("label_smoothing", label_smoothing);
}

BinaryCrossentropy::BinaryCrossentropy(const Config& config)
    : Metric(make_loss_metric("BinaryCrossentropy", config,
                              nyala::BinaryCrossentropy({.from_logits = config.from_logits,
                                                         .label_smoothing = config.label_smoothing}))) {}

}  // namespace nyala::metrics

#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/probabilistic/sparse_categorical_crossentropy.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void SparseCategoricalCrossentropyConfig::fields(FieldVisitor& v) {
  v.field("from_logits", from_logits);
  v.optional("ignore_class", ignore_class, kNoClass);
  v.field("axis", axis);
}

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(const Config& config)
    : Metric(make_loss_metric("SparseCategoricalCrossentropy", config,
                              nyala::SparseCategoricalCrossentropy({.from_logits = config.from_logits,
                                                                    .ignore_class = config.ignore_class,
                                                                    .axis = config.axis}))) {}

}  // namespace nyala::metrics

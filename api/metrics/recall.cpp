#include <nyala/api/metrics/confusion_metric.h>
#include <nyala/api/metrics/mean_metric.h>
#include <nyala/api/metrics/recall.h>

namespace nyala::metrics {

void RecallConfig::fields(FieldVisitor& v) {
  v.field("thresholds", thresholds);
  v.optional("top_k", top_k, 0);
  v.optional("class_id", class_id, kNoClass);
}

Recall::Recall(const Config& config)
    : Metric(make_confusion_metric({.class_name = "Recall",
                                    .thresholds = config.thresholds,
                                    .top_k = config.top_k,
                                    .class_id = config.class_id == kNoClass ? -1 : config.class_id,
                                    .name = config.name,
                                    .missed = true,
                                    .fields = [config](FieldVisitor& v) { Config(config).fields(v); }})) {}

}  // namespace nyala::metrics

#include <nyala/api/metrics/confusion/precision_at_recall.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void PrecisionAtRecallConfig::fields(FieldVisitor& v) {
  v.field("recall", recall);
  v.field("num_thresholds", num_thresholds);
  v.optional("class_id", class_id, kNoClass);
}

PrecisionAtRecall::PrecisionAtRecall(const Config& config)
    : Metric(make_best_under_bound({.class_name = "PrecisionAtRecall",
                                    .bound_name = "recall",
                                    .bound = config.recall,
                                    .num_thresholds = config.num_thresholds,
                                    .class_id = config.class_id,
                                    .name = config.name,
                                    .bounded = &ConfusionCounts::recall,
                                    .wanted = &ConfusionCounts::precision,
                                    .fields = [config](FieldVisitor& v) { Config(config).fields(v); }})) {}

PrecisionAtRecall::PrecisionAtRecall(double recall, Config config)
    : PrecisionAtRecall([&] {
        config.recall = recall;
        return config;
      }()) {}

}  // namespace nyala::metrics

#include <nyala/api/metrics/confusion/recall_at_precision.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void RecallAtPrecisionConfig::fields(FieldVisitor& v) {
  v.field("precision", precision);
  v.field("num_thresholds", num_thresholds);
  v.optional("class_id", class_id, kNoClass);
}

RecallAtPrecision::RecallAtPrecision(const Config& config)
    : Metric(make_best_under_bound({.class_name = "RecallAtPrecision",
                                    .bound_name = "precision",
                                    .bound = config.precision,
                                    .num_thresholds = config.num_thresholds,
                                    .class_id = config.class_id,
                                    .name = config.name,
                                    .bounded = &ConfusionCounts::precision,
                                    .wanted = &ConfusionCounts::recall,
                                    .fields = [config](FieldVisitor& v) { Config(config).fields(v); }})) {}

RecallAtPrecision::RecallAtPrecision(double precision, Config config)
    : RecallAtPrecision([&] {
        config.precision = precision;
        return config;
      }()) {}

}  // namespace nyala::metrics

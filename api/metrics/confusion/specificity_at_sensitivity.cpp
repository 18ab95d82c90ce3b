#include <nyala/api/metrics/confusion/specificity_at_sensitivity.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void SpecificityAtSensitivityConfig::fields(FieldVisitor& v) {
  v.field("sensitivity", sensitivity);
  v.field("num_thresholds", num_thresholds);
  v.optional("class_id", class_id, kNoClass);
}

SpecificityAtSensitivity::SpecificityAtSensitivity(const Config& config)
    : Metric(make_best_under_bound({.class_name = "SpecificityAtSensitivity",
                                    .bound_name = "sensitivity",
                                    .bound = config.sensitivity,
                                    .num_thresholds = config.num_thresholds,
                                    .class_id = config.class_id,
                                    .name = config.name,
                                    .bounded = &ConfusionCounts::recall,
                                    .wanted = &ConfusionCounts::specificity,
                                    .fields = [config](FieldVisitor& v) { Config(config).fields(v); }})) {}

SpecificityAtSensitivity::SpecificityAtSensitivity(double sensitivity, Config config)
    : SpecificityAtSensitivity([&] {
        config.sensitivity = sensitivity;
        return config;
      }()) {}

}  // namespace nyala::metrics

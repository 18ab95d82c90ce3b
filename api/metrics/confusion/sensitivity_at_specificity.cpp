#include <nyala/api/metrics/confusion/sensitivity_at_specificity.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void SensitivityAtSpecificityConfig::fields(FieldVisitor& v) {
  v.field("specificity", specificity);
  v.field("num_thresholds", num_thresholds);
  v.optional("class_id", class_id, kNoClass);
}

SensitivityAtSpecificity::SensitivityAtSpecificity(const Config& config)
    : Metric(make_best_under_bound({.class_name = "SensitivityAtSpecificity",
                                    .bound_name = "specificity",
                                    .bound = config.specificity,
                                    .num_thresholds = config.num_thresholds,
                                    .class_id = config.class_id,
                                    .name = config.name,
                                    .bounded = &ConfusionCounts::specificity,
                                    .wanted = &ConfusionCounts::recall,
                                    .fields = [config](FieldVisitor& v) { Config(config).fields(v); }})) {}

SensitivityAtSpecificity::SensitivityAtSpecificity(double specificity, Config config)
    : SensitivityAtSpecificity([&] {
        config.specificity = specificity;
        return config;
      }()) {}

}  // namespace nyala::metrics

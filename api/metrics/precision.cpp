#include <nyala/api/metrics/precision.h>

namespace nyala::metrics {

Precision::Precision(const Config& config)
    : Metric(make_precision_recall("Precision", config, &ConfusionCounts::precision)) {}

}  // namespace nyala::metrics

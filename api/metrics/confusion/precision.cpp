#include <nyala/api/metrics/confusion/precision.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

Precision::Precision(const Config& config)
    : Metric(make_precision_recall("Precision", config, &ConfusionCounts::precision)) {}

}  // namespace nyala::metrics

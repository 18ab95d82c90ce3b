#include <nyala/api/metrics/confusion/recall.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

Recall::Recall(const Config& config)
    : Metric(make_precision_recall("Recall", config, &ConfusionCounts::recall)) {}

}  // namespace nyala::metrics

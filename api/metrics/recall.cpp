#include <nyala/api/metrics/recall.h>

namespace nyala::metrics {

Recall::Recall(const Config& config)
    : Metric(make_precision_recall("Recall", config, &ConfusionCounts::recall)) {}

}  // namespace nyala::metrics

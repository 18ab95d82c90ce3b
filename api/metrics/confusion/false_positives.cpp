#include <nyala/api/metrics/confusion/false_positives.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

FalsePositives::FalsePositives(const Config& config)
    : Metric(make_confusion_count("FalsePositives", config, &ConfusionCounts::false_positives)) {}

}  // namespace nyala::metrics

#include <nyala/api/metrics/confusion/true_positives.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

TruePositives::TruePositives(const Config& config)
    : Metric(make_confusion_count("TruePositives", config, &ConfusionCounts::true_positives)) {}

}  // namespace nyala::metrics

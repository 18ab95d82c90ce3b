#include <nyala/api/metrics/confusion/true_negatives.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

TrueNegatives::TrueNegatives(const Config& config)
    : Metric(make_confusion_count("TrueNegatives", config, &ConfusionCounts::true_negatives)) {}

}  // namespace nyala::metrics

#include <nyala/api/metrics/confusion/false_negatives.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

FalseNegatives::FalseNegatives(const Config& config)
    : Metric(make_confusion_count("FalseNegatives", config, &ConfusionCounts::false_negatives)) {}

}  // namespace nyala::metrics

#include <nyala/api/losses/mean_absolute_percentage_error.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/regression/mean_absolute_percentage_error.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void MeanAbsolutePercentageErrorConfig::fields(FieldVisitor&) {}

MeanAbsolutePercentageError::MeanAbsolutePercentageError(const Config& config)
    : Metric(make_loss_metric("MeanAbsolutePercentageError", config, nyala::MeanAbsolutePercentageError())) {}

}  // namespace nyala::metrics

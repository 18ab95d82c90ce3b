#include <nyala/api/losses/mean_squared_error.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/regression/mean_squared_error.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void MeanSquaredErrorConfig::fields(FieldVisitor&) {}

MeanSquaredError::MeanSquaredError(const Config& config)
    : Metric(make_loss_metric("MeanSquaredError", config, nyala::MeanSquaredError())) {}

}  // namespace nyala::metrics

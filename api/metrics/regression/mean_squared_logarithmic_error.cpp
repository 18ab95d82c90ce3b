#include <nyala/api/losses/mean_squared_logarithmic_error.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/regression/mean_squared_logarithmic_error.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void MeanSquaredLogarithmicErrorConfig::fields(FieldVisitor&) {}

MeanSquaredLogarithmicError::MeanSquaredLogarithmicError(const Config& config)
    : Metric(make_loss_metric("MeanSquaredLogarithmicError", config, nyala::MeanSquaredLogarithmicError())) {}

}  // namespace nyala::metrics

#include <nyala/api/losses/log_cosh.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/regression/log_cosh_error.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void LogCoshErrorConfig::fields(FieldVisitor&) {}

LogCoshError::LogCoshError(const Config& config)
    : Metric(make_loss_metric("LogCoshError", config, LogCosh())) {}

}  // namespace nyala::metrics

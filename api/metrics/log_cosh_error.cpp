#include <nyala/api/losses/log_cosh.h>
#include <nyala/api/metrics/log_cosh_error.h>
#include <nyala/api/metrics/mean_metric.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void LogCoshErrorConfig::fields(FieldVisitor&) {}

LogCoshError::LogCoshError(const Config& config)
    : Metric(make_loss_metric("LogCoshError", config, LogCosh())) {}

}  // namespace nyala::metrics

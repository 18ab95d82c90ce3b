#include <nyala/api/losses/mean_absolute_error.h>
#include <nyala/api/metrics/mean_absolute_error.h>
#include <nyala/api/metrics/mean_metric.h>

namespace nyala::metrics {

void MeanAbsoluteErrorConfig::fields(FieldVisitor&) {}

MeanAbsoluteError::MeanAbsoluteError(const Config& config)
    : Metric(make_loss_metric(nyala::MeanAbsoluteError(), "MeanAbsoluteError", config.name)) {}

}  // namespace nyala::metrics

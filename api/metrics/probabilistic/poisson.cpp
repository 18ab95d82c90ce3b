#include <nyala/api/losses/poisson.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/probabilistic/poisson.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void PoissonConfig::fields(FieldVisitor&) {}

Poisson::Poisson(const Config& config) : Metric(make_loss_metric("Poisson", config, nyala::Poisson())) {}

}  // namespace nyala::metrics

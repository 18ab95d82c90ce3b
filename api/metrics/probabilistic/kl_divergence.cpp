#include <nyala/api/losses/kl_divergence.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/probabilistic/kl_divergence.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void KLDivergenceConfig::fields(FieldVisitor&) {}

KLDivergence::KLDivergence(const Config& config)
    : Metric(make_loss_metric("KLDivergence", config, nyala::KLDivergence())) {}

}  // namespace nyala::metrics

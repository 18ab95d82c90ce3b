#include <nyala/api/metrics/f_score/f_beta_score.h>
#include <nyala/api/metrics/f_score/f_score_metric.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void FBetaScoreConfig::fields(FieldVisitor& v) {
  v.optional("average", average);
  v.field("beta", beta);
  v.optional("threshold", threshold);
}

FBetaScore::FBetaScore(const Config& config)
    : Metric(make_f_score({.class_name = "FBetaScore",
                           .name = config.name,
                           .average = config.average,
                           .beta = config.beta,
                           .threshold = config.threshold,
                           .fields = [config](FieldVisitor& v) { Config(config).fields(v); }})) {}

}  // namespace nyala::metrics

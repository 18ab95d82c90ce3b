#include <nyala/api/metrics/f_score/f1_score.h>
#include <nyala/api/metrics/f_score/f_score_metric.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void F1ScoreConfig::fields(FieldVisitor& v) {
  v.optional("average", average);
  v.optional("threshold", threshold);
}

F1Score::F1Score(const Config& config)
    : Metric(make_f_score({.class_name = "F1Score",
                           .name = config.name,
                           .average = config.average,
                           .beta = 1.0,
                           .threshold = config.threshold,
                           .fields = [config](FieldVisitor& v) { Config(config).fields(v); }})) {}

}  // namespace nyala::metrics

#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/cosine_similarity.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/regression/cosine_similarity.h>
#include <nyala/backend/core/to_int.h>

namespace nyala::metrics {

using namespace nyala::detail;
using namespace nyala::metrics::detail;

void CosineSimilarityConfig::fields(FieldVisitor& v) { v.field("axis", axis); }

CosineSimilarity::CosineSimilarity(const Config& config)
    : Metric(make_loss_metric(
          "CosineSimilarity", config,
          Loss(
              [axis = to_int(config.axis, "axis")](const Tensor& y_true, const Tensor& y_pred) {
                return cosine_similarity(y_true, y_pred, axis);
              },
              {.rows_are_independent = is_within_rows(config.axis)}),
          Direction::larger)) {}

}  // namespace nyala::metrics

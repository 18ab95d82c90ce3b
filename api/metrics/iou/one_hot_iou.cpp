#include <nyala/api/metrics/iou/iou_metric.h>
#include <nyala/api/metrics/iou/one_hot_iou.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void OneHotIoUConfig::fields(FieldVisitor& v) {
  v.field("num_classes", num_classes);
  v.field("target_class_ids", target_class_ids);
  v.optional("ignore_class", ignore_class, kNoClass);
  v.field("sparse_y_pred", sparse_y_pred);
  v.field("axis", axis);
}

OneHotIoU::OneHotIoU(const Config& config)
    : Metric(make_iou({.class_name = "OneHotIoU",
                       .name = config.name,
                       .num_classes = config.num_classes,
                       .target_class_ids = config.target_class_ids,
                       .ignore_class = config.ignore_class,
                       .sparse_y_true = false,
                       .sparse_y_pred = config.sparse_y_pred,
                       .axis = config.axis,
                       .fields = [config](FieldVisitor& v) { Config(config).fields(v); }})) {}

}  // namespace nyala::metrics

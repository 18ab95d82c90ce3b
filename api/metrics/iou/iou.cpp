#include <nyala/api/metrics/iou/iou.h>
#include <nyala/api/metrics/iou/iou_metric.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void IoUConfig::fields(FieldVisitor& v) {
  v.field("num_classes", num_classes);
  v.field("target_class_ids", target_class_ids);
  v.optional("ignore_class", ignore_class, kNoClass);
  v.field("sparse_y_true", sparse_y_true);
  v.field("sparse_y_pred", sparse_y_pred);
  v.field("axis", axis);
}

IoU::IoU(const Config& config)
    : Metric(make_iou({.class_name = "IoU",
                       .name = config.name,
                       .num_classes = config.num_classes,
                       .target_class_ids = config.target_class_ids,
                       .ignore_class = config.ignore_class,
                       .sparse_y_true = config.sparse_y_true,
                       .sparse_y_pred = config.sparse_y_pred,
                       .axis = config.axis,
                       .fields = [config](FieldVisitor& v) { Config(config).fields(v); }})) {}

}  // namespace nyala::metrics

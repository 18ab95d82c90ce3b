#include <nyala/api/metrics/iou/binary_iou.h>
#include <nyala/api/metrics/iou/iou_metric.h>

namespace nyala::metrics {

using namespace nyala::metrics::detail;

void BinaryIoUConfig::fields(FieldVisitor& v) {
  v.field("target_class_ids", target_class_ids);
  v.field("threshold", threshold);
}

BinaryIoU::BinaryIoU(const Config& config)
    : Metric(make_iou({.class_name = "BinaryIoU",
                       .name = config.name,
                       .num_classes = 2,
                       .target_class_ids = config.target_class_ids,
                       .threshold = config.threshold,
                       .fields = [config](FieldVisitor& v) { Config(config).fields(v); }})) {}

}  // namespace nyala::metrics

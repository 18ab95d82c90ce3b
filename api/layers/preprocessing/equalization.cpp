#include <nyala/api/layers/preprocessing/equalization.h>

#include <nyala/api/base/at_least_float32.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_histograms.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void EqualizationConfig::fields(FieldVisitor& v) {
  visit_factor(v, "value_range", value_range);
  v.field("bins", bins);
  v.field("data_format", data_format);
}

namespace {

class EqualizationNode final : public ImageAugmentation {
 public:
  explicit EqualizationNode(const EqualizationConfig& config)
      : ImageAugmentation(0, "Equalization", config.data_format), config_(config) {
    config_.value_range = sorted_limits("Equalization", "value_range", config.value_range);
    values_ = two_limits("Equalization", "value_range", config_.value_range);
    check_positive("Equalization", "bins", config.bins);
  }
  std::string class_name() const override { return "Equalization"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor changed(Call& c, const Tensor& images, const ImageDraws&) const override {
    const double last = static_cast<double>(config_.bins - 1);
    const Tensor bytes = in_range(at_least_float32(images.detached()), values_, kBytes);
    const Tensor counted = ops::clip(ops::trunc(bytes * last / 255.0), 0.0, last);
    const Tensor counts = c.global_sum(histograms(counted, config_.bins), {0});
    const Tensor places = ops::trunc(ops::clip(bytes / 255.0 * last, 0.0, last));
    const Tensor looked_up = looked_up_in(equalizing_tables(counts), places);
    const Tensor flat = ops::sum(ops::cast(counts > 0.0, DType::int32), {1}) <= 1;
    const Tensor result = in_range(ops::cast(looked_up, bytes.dtype()), kBytes, values_);
    return ops::where(flat, images, ops::cast(result, images.dtype()));
  }

 private:
  ops::UniformRange values_;
  EqualizationConfig config_;
};

}  // namespace

Equalization::Equalization(const Config& config) : Layer(node_from<EqualizationNode>(config)) {}

}  // namespace nyala

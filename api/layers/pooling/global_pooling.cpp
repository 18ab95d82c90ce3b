#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/base/window_sizes.h>
#include <nyala/api/layers/pooling/global_pooling.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void GlobalPoolingConfig::fields(FieldVisitor& v) {
  v.field("data_format", data_format);
  v.field("keepdims", keepdims);
}

namespace {

enum class Kind { maximum, average };

class GlobalPoolingNode final : public LayerNode {
 public:
  GlobalPoolingNode(Kind kind, size_t axes, const GlobalPoolingConfig& config)
      : kind_(kind), count_(axes), config_(config) {
    check_either_data_format(GlobalPoolingNode::class_name(), config.data_format);
    for (size_t i = 0; i < axes; ++i) axes_.push_back(static_cast<int>(i) + (channels_first() ? 2 : 1));
  }
  std::string class_name() const override {
    return (kind_ == Kind::maximum ? "GlobalMaxPooling" : "GlobalAveragePooling") + std::to_string(count_) +
           "D";
  }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  // The mask says what counts in the mean, and ends there.
  bool supports_masking() const override { return uses_mask(); }
  bool uses_mask() const override { return kind_ == Kind::average && count_ == 1; }
  Tensors compute_mask(Inputs, size_t num_outputs) const override { return Tensors(num_outputs); }

  void build(Builder&, const Shape& input) override { check_spatial(input, count_); }

  Tensor call(Call&, const Tensor& x) const override {
    if (kind_ == Kind::maximum) return ops::max(x, axes_, config_.keepdims);
    const Tensor mask = uses_mask() ? mask_of(x) : Tensor();
    return mask.defined() ? mean_of(with_mask(x, Tensor()), ops::expand_dims(mask, channels_first() ? 1 : 2))
                          : ops::mean(x, axes_, config_.keepdims);
  }

 private:
  bool channels_first() const { return config_.data_format == "channels_first"; }

  /// Over the steps that count; 0 / 0 where there are none.
  Tensor mean_of(const Tensor& x, const Tensor& counts) const {
    const Tensor zero = x.is_abstract() ? Tensor::abstract({}, x.dtype(), x.device())
                                        : Tensor::zeros({}, x.dtype(), x.device());
    const Tensor kept = ops::where(counts, x, zero);
    return ops::sum(kept, axes_, config_.keepdims) /
           ops::sum(ops::cast(counts, x.dtype()), axes_, config_.keepdims);
  }

  Kind kind_;
  size_t count_;
  std::vector<int> axes_;
  GlobalPoolingConfig config_;
};

std::shared_ptr<LayerNode> make(Kind kind, size_t axes, const GlobalPoolingConfig& config) {
  return finish_layer(std::make_shared<GlobalPoolingNode>(kind, axes, config), options_of(config));
}

}  // namespace

GlobalAveragePooling1D::GlobalAveragePooling1D(const Config& config)
    : Layer(make(Kind::average, 1, config)) {}
GlobalAveragePooling2D::GlobalAveragePooling2D(const Config& config)
    : Layer(make(Kind::average, 2, config)) {}
GlobalAveragePooling3D::GlobalAveragePooling3D(const Config& config)
    : Layer(make(Kind::average, 3, config)) {}
GlobalMaxPooling1D::GlobalMaxPooling1D(const Config& config) : Layer(make(Kind::maximum, 1, config)) {}
GlobalMaxPooling2D::GlobalMaxPooling2D(const Config& config) : Layer(make(Kind::maximum, 2, config)) {}
GlobalMaxPooling3D::GlobalMaxPooling3D(const Config& config) : Layer(make(Kind::maximum, 3, config)) {}

}  // namespace nyala

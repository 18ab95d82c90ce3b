#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/as_images.h>
#include <nyala/api/layers/base/channels_first.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/fusable.h>
#include <nyala/api/layers/base/window_sizes.h>
#include <nyala/api/layers/pooling/pooling.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/nn/pooling.h>

namespace nyala {

using namespace nyala::detail;

namespace {

template <size_t N, PoolingKind kKind>
std::string class_name_for() {
  return (kKind == PoolingKind::maximum ? "MaxPooling" : "AveragePooling") + std::to_string(N) + "D";
}

template <size_t N, PoolingKind kKind>
PoolingConfig<N, kKind> checked(PoolingConfig<N, kKind> config) {
  const std::string layer = class_name_for<N, kKind>();
  check_positive(layer, "pool_size", config.pool_size);
  if (!config.strides.given()) config.strides = config.pool_size;
  check_positive(layer, "strides", config.strides);
  config.padding = checked_padding(layer, config.padding);
  check_either_data_format(layer, config.data_format);
  return config;
}

template <PoolingKind kKind>
Tensor pool2d(const Tensor& x, const ops::Pooling2DOptions& options) {
  return kKind == PoolingKind::maximum ? ops::max_pooling2d(x, options) : ops::average_pooling2d(x, options);
}

/// Maxima of whole numbers are whole numbers; means of them are of the layer's dtype.
template <PoolingKind kKind>
Tensor poolable(const Tensor& x, DType dtype) {
  return kKind == PoolingKind::maximum ? x : as_floating(x, dtype);
}

/// None where a size is.
int64_t product(int64_t a, int64_t b) { return a == None || b == None ? None : a * b; }

/// First slice by slice, then slices: maxima are exact that way, and so are means, because the elements that
/// count in a window are a box of them.
template <PoolingKind kKind>
Tensor pool3d(const Tensor& x, const Size3D& pool, const Size3D& strides, const std::string& padding) {
  const Size2D plane{pool[1], pool[2]}, plane_strides{strides[1], strides[2]};
  const Size2D column{pool[0], 1}, column_strides{strides[0], 1};
  const Shape s = x.shape();
  const Tensor slices = ops::reshape(x, {product(s[0], s[1]), s[2], s[3], s[4]});
  const Tensor flat = pool2d<kKind>(slices, {plane.to_array(), plane_strides.to_array(), padding});
  const int64_t rows = flat.shape()[1], columns = flat.shape()[2];
  const Tensor stacks = ops::reshape(flat, {s[0], s[1], product(rows, columns), s[4]});
  const Tensor y = pool2d<kKind>(stacks, {column.to_array(), column_strides.to_array(), padding});
  return ops::reshape(y, {s[0], y.shape()[1], rows, columns, s[4]});
}

template <size_t N, PoolingKind kKind>
class PoolingNode : public LayerNode, public Fusable {
 public:
  explicit PoolingNode(const PoolingConfig<N, kKind>& config) : config_(checked(config)) {}
  std::string class_name() const override { return class_name_for<N, kKind>(); }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override {
    check_spatial(input, N);
    check_window(input, {config_.pool_size, config_.strides, 1, config_.padding});
  }

  Tensor call(Call&, const Tensor& input) const override {
    const Tensor x = poolable<kKind>(input, compute_dtype());
    if constexpr (N == 3)
      return pool3d<kKind>(x, config_.pool_size, config_.strides, config_.padding);
    else
      return from_images<N>(pool2d<kKind>(
          as_images<N>(x),
          {sizes_in_image(config_.pool_size), sizes_in_image(config_.strides), config_.padding}));
  }

  const Fusable* fusable() const override { return N == 2 && kKind == PoolingKind::maximum ? this : nullptr; }
  /// Zeros around values that are nowhere below zero change no maximum, unless a window lies on them alone.
  bool takes(const FusedParts& parts) const override {
    if (config_.padding != "valid" || !parts.padding || parts.sum ||
        parts.activation != ops::Activation::linear)
      return false;
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t pool = config_.pool_size[static_cast<size_t>(axis % N)];
      if (parts.padding->before(axis, 0, 1, 1) >= pool || parts.padding->after(axis, 0, 1, 1) >= pool)
        return false;
    }
    return true;
  }
  Tensor call_fused(Call& c, const Tensor& x, const FusedCall& fused) const override {
    if constexpr (N == 2)
      return pool2d<kKind>(x,
                           {config_.pool_size.to_array(), config_.strides.to_array(), *fused.parts.padding});
    else
      return Fusable::call_fused(c, x, fused);
  }

 private:
  PoolingConfig<N, kKind> config_;
};

template <size_t N, PoolingKind kKind>
std::shared_ptr<LayerNode> make(const PoolingConfig<N, kKind>& config) {
  return make_image_layer<PoolingNode<N, kKind>>(config);
}

}  // namespace

MaxPooling1D::MaxPooling1D(const Config& config) : Layer(make(config)) {}
MaxPooling1D::MaxPooling1D(Size1D pool_size, Config config)
    : MaxPooling1D(with(std::move(config), &Config::pool_size, pool_size)) {}

MaxPooling2D::MaxPooling2D(const Config& config) : Layer(make(config)) {}
MaxPooling2D::MaxPooling2D(Size2D pool_size, Config config)
    : MaxPooling2D(with(std::move(config), &Config::pool_size, pool_size)) {}

MaxPooling3D::MaxPooling3D(const Config& config) : Layer(make(config)) {}
MaxPooling3D::MaxPooling3D(Size3D pool_size, Config config)
    : MaxPooling3D(with(std::move(config), &Config::pool_size, pool_size)) {}

AveragePooling1D::AveragePooling1D(const Config& config) : Layer(make(config)) {}
AveragePooling1D::AveragePooling1D(Size1D pool_size, Config config)
    : AveragePooling1D(with(std::move(config), &Config::pool_size, pool_size)) {}

AveragePooling2D::AveragePooling2D(const Config& config) : Layer(make(config)) {}
AveragePooling2D::AveragePooling2D(Size2D pool_size, Config config)
    : AveragePooling2D(with(std::move(config), &Config::pool_size, pool_size)) {}

AveragePooling3D::AveragePooling3D(const Config& config) : Layer(make(config)) {}
AveragePooling3D::AveragePooling3D(Size3D pool_size, Config config)
    : AveragePooling3D(with(std::move(config), &Config::pool_size, pool_size)) {}

}  // namespace nyala

#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/size.h>

namespace nyala {

enum class PoolingKind { maximum, average };

/// Of the layers that pool windows along N axes.
template <size_t N, PoolingKind kKind>
struct PoolingConfig {
  NamesRequired names_required = NamesRequired();
  Size<N> pool_size = kKind == PoolingKind::maximum ? Size<N>(2) : Size<N>::none();
  Size<N> strides = Size<N>::none();  // not given: pool_size
  std::string padding = "valid";      // or "same"
  std::string data_format = {};       // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v) {
    detail::visit_size(v, "pool_size", pool_size);
    detail::visit_size(v, "strides", strides);
    v.field("padding", padding);
    v.field("data_format", data_format);
  }
};

using MaxPooling1DConfig = PoolingConfig<1, PoolingKind::maximum>;
using MaxPooling2DConfig = PoolingConfig<2, PoolingKind::maximum>;
using MaxPooling3DConfig = PoolingConfig<3, PoolingKind::maximum>;
using AveragePooling1DConfig = PoolingConfig<1, PoolingKind::average>;
using AveragePooling2DConfig = PoolingConfig<2, PoolingKind::average>;
using AveragePooling3DConfig = PoolingConfig<3, PoolingKind::average>;

}  // namespace nyala

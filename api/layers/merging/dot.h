#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/axes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct DotConfig {
  NamesRequired names_required = NamesRequired();
  Axes axes = -1;  // one for both inputs, or one for each; not the batch. Keras has no default.
  bool normalize = false;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Sums the products of two inputs over an axis of each, row by row: (batch, a..., n) with (batch, b..., n)
/// gives (batch, a..., b...), and (batch, 1) for two inputs of rank 2. With `normalize` both are first
/// divided by their Euclidean norm along the axis (at least 1e-7): the cosine proximity. Masks are lost.
class Dot : public Layer {
 public:
  using Config = DotConfig;
  /// Throws InvalidArgumentError unless there are one or two axes, none of them 0.
  explicit Dot(const Config& config);
  template <size_t N>
  explicit Dot(const NoSuchField (&)[N]) = delete;
  explicit Dot(int axis, Config config = {});
  template <size_t N>
  explicit Dot(int, const NoSuchField (&)[N]) = delete;
  Dot(int first_axis, int second_axis, Config config = {});
  template <size_t N>
  Dot(int, int, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

#pragma once

#include <utility>

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/axes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct SoftmaxConfig {
  NamesRequired names_required = NamesRequired();
  Axes axis = -1;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// exp(x) / sum of exp(x) along one axis or over several together. What the input's mask leaves out counts
/// for nothing and gives 0; each axis of the mask, from the last on, is 1 or that of the input.
class Softmax : public Layer {
 public:
  using Config = SoftmaxConfig;
  explicit Softmax(const Config& config = {});
  template <int = 0>  // behind the other where g++ takes {.axis = ...} for a list
  explicit Softmax(Axes axis, Config config = {}) : Softmax((config.axis = std::move(axis), config)) {}
};

}  // namespace nyala

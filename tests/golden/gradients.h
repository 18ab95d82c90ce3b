#pragma once

#include <map>

#include <nyala/backend/autograd/backward.h>

namespace nyala::golden {

/// Keeps the gradient of every leaf.
class GradientMap final : public GradientSink {
 public:
  Tensor destination(int32_t) override { return {}; }
  void ready(int32_t leaf, const Tensor& gradient) override { gradients_[leaf] = gradient.clone(); }
  /// Throws std::out_of_range for a leaf that backward never reported.
  const Tensor& of(int32_t leaf) const { return gradients_.at(leaf); }
  bool has(int32_t leaf) const { return gradients_.contains(leaf); }

 private:
  std::map<int32_t, Tensor> gradients_;
};

}  // namespace nyala::golden

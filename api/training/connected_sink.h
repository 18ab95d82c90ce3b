#pragma once

#include <vector>

#include <nyala/backend/autograd/gradient_sink.h>

namespace nyala {

/// Hands gradients on and remembers which leaves had one, by leaf key. Those that had none are not handed on.
class ConnectedSink final : public GradientSink {
 public:
  ConnectedSink(GradientSink& sink, std::vector<bool>& connected) : sink_(sink), connected_(connected) {}
  Tensor destination(int32_t leaf) override { return sink_.destination(leaf); }
  void ready(int32_t leaf, const Tensor& gradient) override {
    note(leaf);
    sink_.ready(leaf, gradient);
  }
  bool without_gradient(int32_t) override { return true; }
  bool take_rows(int32_t leaf, const Tensor& indices, const Tensor& values) override {
    const bool taken = sink_.take_rows(leaf, indices, values);
    if (taken) note(leaf);
    return taken;
  }

 private:
  void note(int32_t leaf) {
    if (static_cast<size_t>(leaf) < connected_.size()) connected_[static_cast<size_t>(leaf)] = true;
  }

  GradientSink& sink_;
  std::vector<bool>& connected_;
};

}  // namespace nyala

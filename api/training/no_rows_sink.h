#pragma once

#include <nyala/backend/autograd/gradient_sink.h>

namespace nyala {

/// The sink of a replica without rows: a gradient that a mean over nothing made NaN is 0.
class NoRowsSink final : public GradientSink {
 public:
  explicit NoRowsSink(GradientSink& sink) : sink_(sink) {}
  Tensor destination(int32_t leaf) override { return sink_.destination(leaf); }
  void ready(int32_t leaf, const Tensor& gradient) override;
  bool without_gradient(int32_t leaf) override { return sink_.without_gradient(leaf); }
  bool take_rows(int32_t leaf, const Tensor& indices, const Tensor& values) override {
    return sink_.take_rows(leaf, indices, values);  // there are none
  }

 private:
  GradientSink& sink_;
};

}  // namespace nyala

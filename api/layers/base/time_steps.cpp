#include <nyala/api/layers/base/time_steps.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

namespace {

// Halves of halves: the gradient of a slice is as large as what it was cut from, so cutting each step from
// the whole would cost time squared.
void cut(const Tensor& x, Tensors& steps) {
  const int64_t count = x.shape()[1];
  if (count == 0) return;
  if (count == 1) {
    steps.push_back(ops::squeeze(x, {1}));
    return;
  }
  cut(ops::slice_axis(x, 1, {.start = 0, .stop = count / 2}), steps);
  cut(ops::slice_axis(x, 1, {.start = count / 2, .stop = count}), steps);
}

}  // namespace

Tensors detail::time_steps(const Tensor& x) {
  Tensors steps;
  cut(x, steps);
  return steps;
}

}  // namespace nyala

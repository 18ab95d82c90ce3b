#include <nyala/api/graph/fitted_input.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

namespace {

bool fits(const Shape& received, const Shape& expected) {
  if (received.rank() != expected.rank()) return false;
  for (int axis = 1; axis < expected.rank(); ++axis)
    if (expected[axis] != None && received[axis] != None && received[axis] != expected[axis]) return false;
  return true;
}

Tensor with_fitted_rank(const Tensor& x, const Shape& expected) {
  if (x.rank() == expected.rank() + 1 && x.shape().back() == 1)
    return ops::reshape(x, x.shape().slice(0, x.rank() - 1));
  if (x.rank() == 0 || x.rank() + 1 != expected.rank() || (expected.back() != 1 && expected.back() != None))
    return x;
  Shape shape = x.shape();
  shape.append(1);
  return ops::reshape(x, shape);
}

/// Whether the model that runs was called by another layer, as DataParallel calls it with slices of any axis.
bool is_called_by_a_layer() {
  const RunningCall* const running = thread_context().running;
  return running && running->outer && !running->outer->is_step;
}

}  // namespace

Tensor fitted_input(const Tensor& x, const Shape& expected, const std::string& model, size_t index) {
  if (!x.defined())
    throw StateError("model " + in_quotes(model) + ", input " + std::to_string(index) + ": expected shape " +
                     expected.to_string() + ", received an empty one, which was never made");
  if (expected.rank() == 0 || fits(x.shape(), expected)) return x;
  Tensor fitted = with_fitted_rank(x, expected);
  if (fits(fitted.shape(), expected)) return fitted;
  if (fitted.rank() == expected.rank() && is_called_by_a_layer()) return fitted;
  throw ShapeError("model " + in_quotes(model) + ", input " + std::to_string(index) + ": expected shape " +
                   expected.to_string() + ", received " + x.shape().to_string() +
                   missing_batch_axis(x.shape(), expected.rank()));
}

}  // namespace nyala

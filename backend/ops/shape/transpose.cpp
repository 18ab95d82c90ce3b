#include <numeric>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/reduction_axes.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_transpose(InferContext& c) {
  const Shape& x = c.shape(0);
  Shape out;
  for (int i = 0; i < x.rank(); ++i)
    out.append(x[c.descriptor<TransposeDescriptor>().axes[static_cast<size_t>(i)]]);
  c.output(0, out, c.dtype(0));
}

void transpose_reference(const KernelCall& call) {
  copy_strided(transpose_copy(call), size_of(call.output(0).dtype()), call.input(0).raw(),
               call.output(0).raw());
}

void transpose_gradient(GradContext& c) {
  const auto& axes = c.descriptor<TransposeDescriptor>().axes;
  TransposeDescriptor inverse;
  for (int i = 0; i < c.input(0).rank(); ++i)
    inverse.axes[static_cast<size_t>(axes[static_cast<size_t>(i)])] = static_cast<int8_t>(i);
  c.emit(0, kTranspose, inverse, {&c.grad()});
}

}  // namespace

StridedCopy detail::transpose_copy(const KernelCall& call) {
  const Shape &x = call.input(0).shape(), &y = call.output(0).shape();
  std::array<int64_t, Shape::kMaxRank> strides{};
  int64_t stride = 1;
  for (int axis = x.rank(); axis-- > 0; stride *= x[axis]) strides[static_cast<size_t>(axis)] = stride;
  StridedCopy copy;
  int64_t to = y.num_elements();
  for (int i = 0; i < y.rank() && to > 0; ++i) {
    to /= y[i];
    const auto from = call.descriptor<TransposeDescriptor>().axes[static_cast<size_t>(i)];
    copy.add_axis(y[i], strides[static_cast<size_t>(from)], to);
  }
  return copy;
}

const OpDef kTranspose = {.name = "transpose",
                          .infer = infer_transpose,
                          .gradient = transpose_gradient,
                          .reference = transpose_reference,
                          .twice_differentiable = true,
                          .takes_half = true};

Tensor transpose(const Tensor& x, const Axes& axes) {
  const int rank = x.rank();
  TransposeDescriptor descriptor;
  uint32_t seen = 0;
  for (int i = 0; i < rank && axes.empty(); ++i)
    descriptor.axes[static_cast<size_t>(i)] = static_cast<int8_t>(rank - 1 - i);
  for (size_t i = 0; i < axes.size() && axes.size() == static_cast<size_t>(rank); ++i) {
    const int axis = x.shape().normalize_axis(axes.list()[i]);
    seen |= 1u << axis;
    descriptor.axes[i] = static_cast<int8_t>(axis);
  }
  if (!axes.empty() && seen != (1u << rank) - 1) {
    std::string text;
    for (const int axis : axes) text += (text.empty() ? "" : ", ") + std::to_string(axis);
    throw ShapeError("transpose: expected each axis of " + x.shape().to_string() + " once, received axes (" +
                     text + ")");
  }
  return dispatch(kTranspose, descriptor, {&x});
}

Tensor swapaxes(const Tensor& x, int first, int second) {
  std::vector<int> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<size_t>(x.shape().normalize_axis(first))],
            axes[static_cast<size_t>(x.shape().normalize_axis(second))]);
  return transpose(x, axes);
}

Tensor moveaxis(const Tensor& x, const Axes& source, const Axes& destination) {
  if (source.size() != destination.size())
    throw ShapeError("moveaxis: expected as many destinations as sources, received " +
                     std::to_string(source.size()) + " sources and " + std::to_string(destination.size()) +
                     " destinations");
  const uint32_t moved = source.empty() ? 0u : axes_mask(x.shape(), source, "moveaxis");
  if (!destination.empty()) axes_mask(x.shape(), destination, "moveaxis");
  std::vector<int> axes(static_cast<size_t>(x.rank()), -1);
  for (size_t i = 0; i < source.size(); ++i)
    axes[static_cast<size_t>(x.shape().normalize_axis(destination.list()[i]))] =
        x.shape().normalize_axis(source.list()[i]);
  int next = 0;
  for (int& axis : axes) {
    if (axis >= 0) continue;
    while (moved >> next & 1u) ++next;
    axis = next++;
  }
  return transpose(x, axes);
}

}  // namespace nyala::ops

#include <nyala/backend/ops/arg_reduction.h>
#include <nyala/backend/ops/dispatch.h>
#include <nyala/backend/ops/reduction.h>
#include <nyala/backend/ops/reduction_axes.h>

namespace nyala::ops {

namespace {

void infer_arg(InferContext& c) {
  const auto& d = c.descriptor<ReductionDescriptor>();
  const Shape out = reduced_shape(c.shape(0), d.axes, d.keepdims);
  for (int axis = 0; axis < c.shape(0).rank(); ++axis)
    if ((d.axes >> axis & 1u) && c.shape(0)[axis] == 0)
      c.fail("expected at least one value along axis " + std::to_string(axis) + ", received shape " +
             c.shape(0).to_string());
  c.output(0, out, DType::int32);
}

template <bool kLargest>
void arg_reference(const KernelCall& call) {
  const ReductionAxes axes(call.input(0).shape(), call.descriptor<ReductionDescriptor>().axes);
  dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* x = call.in<T>(0);
    axes.for_each_output([&](int64_t o, int64_t base) {
      T best = x[base];
      int64_t chosen = 0;
      axes.for_each_member(base, [&](int64_t k, int64_t i) {
        const bool better = (kLargest ? x[i] > best : x[i] < best) || (best != best && x[i] == x[i]);
        if (!better) return;
        best = x[i];
        chosen = k;
      });
      call.out<int32_t>(0)[o] = static_cast<int32_t>(chosen);
    });
  });
}

Tensor arg(const OpDef& op, const Tensor& x, std::optional<int> axis, bool keepdims) {
  const std::vector<int> axes = axis ? std::vector<int>{*axis} : std::vector<int>{};
  return dispatch(op, ReductionDescriptor{axes_mask(x.shape(), axes, op.name), keepdims}, {&x});
}

}  // namespace

const OpDef kArgmax = {.name = "argmax", .infer = infer_arg, .reference = arg_reference<true>};
const OpDef kArgmin = {.name = "argmin", .infer = infer_arg, .reference = arg_reference<false>};

Tensor argmax(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return arg(kArgmax, x, axis, keepdims);
}
Tensor argmin(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return arg(kArgmin, x, axis, keepdims);
}

}  // namespace nyala::ops

#include <nyala/backend/ops/base/cast.h>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

template <class To, class From>
To convert(From value) {
  if constexpr (kIsHalf<From>)
    return convert<To>(static_cast<float>(value));
  else if constexpr (kIsHalf<To>)
    return To(static_cast<float>(value));
  else if constexpr (std::is_same_v<To, bool>)
    return value != From{};
  else
    return static_cast<To>(value);
}

void infer_cast(InferContext& c) { c.output(0, c.shape(0), c.descriptor<CastDescriptor>().dtype); }

void cast_reference(const KernelCall& call) {
  const int64_t count = call.output(0).num_elements();
  dispatch_any(call.input(0).dtype(), [&]<class From>(From) {
    dispatch_any(call.output(0).dtype(), [&]<class To>(To) {
      const From* x = call.in<From>(0);
      To* y = call.out<To>(0);
      for (int64_t i = 0; i < count; ++i) y[i] = convert<To>(x[i]);
    });
  });
}

void cast_gradient(GradContext& c) {
  if (is_floating(c.input(0).dtype()) && is_floating(c.output().dtype()))
    c.set(0, cast(c.grad(), c.input(0).dtype()));
}

/// From the entry of cast_of_leaf(), which alone keeps its input.
Tensor cast_again(const void* descriptor, std::span<const Tensor> kept) {
  return cast(kept[0], static_cast<const CastDescriptor*>(descriptor)->dtype);
}

}  // namespace

const OpDef kCast = {.name = "cast",
                     .infer = infer_cast,
                     .gradient = cast_gradient,
                     .reference = cast_reference,
                     .twice_differentiable = true,
                     .recompute = cast_again,
                     .takes_half = true,
                     .hands_on_gradients = true};

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return dispatch(kCast, CastDescriptor{dtype}, {&x});
}

Tensor detail::cast_of_leaf(const Tensor& leaf, DType dtype) {
  const Tensor y = cast(leaf, dtype);
  Tape* const tape = y.tape();
  if (leaf.rank() < 2) return y;  // a vector is not worth it
  if (!tape || leaf.is_abstract() || y.value_id() == leaf.value_id()) return y;
  const TapeEntry& entry = tape->entries().back();
  if (tape->ids()[entry.first_id] != leaf.value_id()) return y;  // it was moved to another device first
  tape->tensors()[entry.first_tensor] = leaf.detached();
  tape->values()[y.value_id()].recomputed = true;
  return y;
}

}  // namespace nyala::ops

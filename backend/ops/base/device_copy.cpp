#include <nyala/backend/ops/base/device_copy.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

namespace ops {

namespace {

void infer_device_copy(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }

void device_copy_gradient(GradContext& c) { c.set(0, seen_from(c.grad(), c.input(0).device())); }

Tensor copied(const Tensor& x, Device device) {
  Tensor out = Tensor::empty(x.shape(), x.dtype(), device);
  out.copy_from(x);
  return out;
}

Tensor moved(const Tensor& x, Device device, bool share) {
  if (!x.defined()) throw_empty_tensor("to");
  if (x.device() == device || (x.is_abstract() && x.metadata())) return x;
  Tensor out = x.is_abstract()                             ? Tensor::abstract(x.shape(), x.dtype(), device)
               : share && share_memory(x.device(), device) ? x.alias_on(device)
                                                           : copied(x, device);
  const Tensor* const inputs[] = {&x};
  if (Tape* tape = recording_tape(inputs))
    tape->record(kDeviceCopy, DeviceCopyDescriptor{device}, inputs, std::span(&out, 1));
  return out;
}

}  // namespace

const OpDef kDeviceCopy = {.name = "device_copy",
                           .infer = infer_device_copy,
                           .gradient = device_copy_gradient,
                           .reference = {},
                           .twice_differentiable = true};

Tensor device_copy(const Tensor& x, Device device) { return moved(x, device, false); }

Tensor seen_from(const Tensor& x, Device device) { return moved(x, device, true); }

Tensor detail::on_guarded_device(const Tensor& x) {
  const ThreadContext& context = thread_context();
  return context.is_placed() && x.defined() ? seen_from(x, context.device) : x;
}

}  // namespace ops

Tensor Tensor::to(Device device) const { return ops::device_copy(*this, device); }

}  // namespace nyala

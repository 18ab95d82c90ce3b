#include <nyala/backend/ops/device_copy.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/dispatch.h>
#include <nyala/backend/ops/grad_context.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

namespace ops {

namespace {

void infer_device_copy(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }

void device_copy_gradient(GradContext& c) { c.set(0, device_copy(c.grad(), c.input(0).device(), true)); }

Tensor moved(const Tensor& x, Device device, bool share) {
  if (x.is_abstract()) return Tensor::abstract(x.shape(), x.dtype(), device);
  if (share && device.kind == DeviceKind::cpu && x.device().kind == DeviceKind::cpu)
    return x.alias_on(device);
  Tensor out = Tensor::empty(x.shape(), x.dtype(), device);
  out.copy_from(x);
  return out;
}

}  // namespace

const OpDef kDeviceCopy = {.name = "device_copy",
                           .infer = infer_device_copy,
                           .gradient = device_copy_gradient,
                           .reference = {},
                           .twice_differentiable = true};

Tensor device_copy(const Tensor& x, Device device, bool share) {
  if (!x.defined()) throw_empty_tensor("to");
  if (x.device() == device || (x.is_abstract() && x.notes())) return x;
  Tensor out = moved(x, device, share);
  const Tensor* const inputs[] = {&x};
  if (Tape* tape = recording_tape(inputs))
    tape->record(kDeviceCopy, DeviceCopyDescriptor{device}, inputs, std::span(&out, 1));
  return out;
}

Tensor on_guarded_device(const Tensor& x) {
  const ThreadContext& context = thread_context();
  return context.is_placed() && x.defined() ? device_copy(x, context.device, true) : x;
}

}  // namespace ops

Tensor Tensor::to(Device device) const { return ops::device_copy(*this, device); }

}  // namespace nyala

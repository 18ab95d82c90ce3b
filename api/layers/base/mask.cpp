// A mask travels with its tensor, as Keras' _keras_mask: metadata that the tensor holds, shared by copies and
// replaced, never changed. So no layer between has to pass it on by hand.
#include <nyala/api/layers/base/mask.h>

#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/logical.h>

namespace nyala {

Tensor mask_of(const Tensor& x) {
  if (!x.metadata()) return {};
  const auto* metadata = dynamic_cast<const MaskMetadata*>(x.metadata().get());
  return metadata ? metadata->mask : Tensor();
}

namespace {

/// The metadata of `x` to change, or new.
std::shared_ptr<MaskMetadata> copied_metadata(const Tensor& x) {
  const auto* metadata = dynamic_cast<const MaskMetadata*>(x.metadata().get());
  return metadata ? metadata->clone() : std::make_shared<MaskMetadata>();
}

Tensor with_metadata(const Tensor& x, std::shared_ptr<MaskMetadata> metadata) {
  Tensor out = x;
  if (!metadata->is_symbolic() && !metadata->mask.defined() && !metadata->arguments) metadata = nullptr;
  out.set_metadata(std::move(metadata));
  return out;
}

Tensor marked(const Tensor& x, const Tensor& mask, bool given) {
  if (!x.metadata() && !mask.defined()) return x;
  std::shared_ptr<MaskMetadata> metadata = copied_metadata(x);
  metadata->mask = mask;
  metadata->given = given;
  return with_metadata(x, std::move(metadata));
}

}  // namespace

Tensor with_mask(const Tensor& x, const Tensor& mask) { return marked(x, mask, false); }

Tensor given_mask(const Tensor& x, const Tensor& mask) { return marked(x, mask, mask.defined()); }

Tensor detail::with_call_arguments(const Tensor& x, std::shared_ptr<const CallArguments> arguments) {
  if (!x.metadata() && !arguments) return x;
  std::shared_ptr<MaskMetadata> metadata = copied_metadata(x);
  metadata->arguments = std::move(arguments);
  return with_metadata(x, std::move(metadata));
}

std::shared_ptr<const CallArguments> detail::call_arguments_of(const Tensor& x) {
  const auto* metadata = x.metadata() ? dynamic_cast<const MaskMetadata*>(x.metadata().get()) : nullptr;
  return metadata ? metadata->arguments : nullptr;
}

bool detail::is_symbolic(const Tensor& x) {
  const auto* metadata = dynamic_cast<const MaskMetadata*>(x.metadata().get());
  return metadata && metadata->is_symbolic();
}

bool detail::has_given_mask(const Tensor& x) {
  const auto* metadata = dynamic_cast<const MaskMetadata*>(x.metadata().get());
  return metadata && metadata->given;
}

Tensor detail::cast_with_metadata(const Tensor& x, DType dtype) {
  const Tensor out = ops::cast(x, dtype);
  return x.metadata() ? with_call_arguments(marked(out, mask_of(x), has_given_mask(x)), call_arguments_of(x))
                      : out;
}

Tensor detail::merged_mask(Inputs inputs) {
  Tensor merged;
  for (const Tensor& input : inputs) {
    const Tensor mask = mask_of(input);
    if (!mask.defined()) return {};
    merged = merged.defined() ? ops::logical_or(merged, mask) : mask;
  }
  return merged;
}

}  // namespace nyala

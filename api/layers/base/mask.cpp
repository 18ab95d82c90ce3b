// A mask travels with its tensor, as Keras' _keras_mask: notes that the tensor holds, shared by copies and
// replaced, never changed. So no layer between has to pass it on by hand.
#include <nyala/api/layers/base/mask.h>

#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/backend/ops/elementwise/logical.h>

namespace nyala {

Tensor mask_of(const Tensor& x) {
  if (!x.notes()) return {};
  const auto* notes = dynamic_cast<const MaskNotes*>(x.notes().get());
  return notes ? notes->mask : Tensor();
}

namespace {

/// The notes of `x` to change, or fresh ones.
std::shared_ptr<MaskNotes> copied_notes(const Tensor& x) {
  const auto* notes = dynamic_cast<const MaskNotes*>(x.notes().get());
  return notes ? notes->clone() : std::make_shared<MaskNotes>();
}

Tensor with_notes(const Tensor& x, std::shared_ptr<MaskNotes> notes) {
  Tensor out = x;
  if (!notes->is_symbolic() && !notes->mask.defined() && !notes->arguments) notes = nullptr;
  out.set_notes(std::move(notes));
  return out;
}

Tensor marked(const Tensor& x, const Tensor& mask, bool given) {
  if (!x.notes() && !mask.defined()) return x;
  std::shared_ptr<MaskNotes> notes = copied_notes(x);
  notes->mask = mask;
  notes->given = given;
  return with_notes(x, std::move(notes));
}

}  // namespace

Tensor with_mask(const Tensor& x, const Tensor& mask) { return marked(x, mask, false); }

Tensor given_mask(const Tensor& x, const Tensor& mask) { return marked(x, mask, mask.defined()); }

Tensor detail::with_call_arguments(const Tensor& x, std::shared_ptr<const CallArguments> arguments) {
  if (!x.notes() && !arguments) return x;
  std::shared_ptr<MaskNotes> notes = copied_notes(x);
  notes->arguments = std::move(arguments);
  return with_notes(x, std::move(notes));
}

std::shared_ptr<const CallArguments> detail::call_arguments_of(const Tensor& x) {
  const auto* notes = x.notes() ? dynamic_cast<const MaskNotes*>(x.notes().get()) : nullptr;
  return notes ? notes->arguments : nullptr;
}

bool detail::is_symbolic(const Tensor& x) {
  const auto* notes = dynamic_cast<const MaskNotes*>(x.notes().get());
  return notes && notes->is_symbolic();
}

bool detail::has_given_mask(const Tensor& x) {
  const auto* notes = dynamic_cast<const MaskNotes*>(x.notes().get());
  return notes && notes->given;
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

#include <nyala/api/layers/mask.h>

#include <nyala/api/model/graph.h>
#include <nyala/backend/ops/logical.h>

namespace nyala {

Tensor mask_of(const Tensor& x) {
  if (!x.notes()) return {};
  const auto* notes = dynamic_cast<const MaskNotes*>(x.notes().get());
  return notes ? notes->mask : Tensor();
}

namespace {

Tensor marked(const Tensor& x, const Tensor& mask, bool given) {
  Tensor out = x;
  std::shared_ptr<MaskNotes> notes;
  if (const SymbolicNotes* drawn = symbolic(x))
    notes = std::make_shared<SymbolicNotes>(*drawn);
  else if (mask.defined())
    notes = std::make_shared<MaskNotes>();
  if (notes) {
    notes->mask = mask;
    notes->given = given;
  }
  out.set_notes(std::move(notes));
  return out;
}

}  // namespace

Tensor with_mask(const Tensor& x, const Tensor& mask) { return marked(x, mask, false); }

Tensor given_mask(const Tensor& x, const Tensor& mask) { return marked(x, mask, mask.defined()); }

bool has_given_mask(const Tensor& x) {
  const auto* notes = dynamic_cast<const MaskNotes*>(x.notes().get());
  return notes && notes->given;
}

Tensor merged_mask(Inputs inputs) {
  Tensor merged;
  for (const Tensor& input : inputs) {
    const Tensor mask = mask_of(input);
    if (!mask.defined()) return {};
    merged = merged.defined() ? ops::logical_or(merged, mask) : mask;
  }
  return merged;
}

}  // namespace nyala

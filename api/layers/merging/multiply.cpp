#include <nyala/api/layers/merging/multiply.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/merging/merge_layer.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/logical.h>

namespace nyala {

using namespace nyala::detail;

void MultiplyConfig::fields(FieldVisitor&) {}

namespace {

Tensor product_of(Inputs inputs) {
  const Tensor one = Tensor::full({}, 1.0, inputs[0].dtype(), inputs[0].device());
  const Tensor none = Tensor::full({}, 0.0, inputs[0].dtype(), inputs[0].device());
  Tensor product, counts;
  bool all_masked = true;
  for (const Tensor& input : inputs) {
    const Tensor mask = element_mask(input);
    const Tensor x = mask.defined() ? ops::where(mask, input, one) : input;
    product = product.defined() ? ops::multiply(product, x) : x;
    all_masked = all_masked && mask.defined();
    if (all_masked) counts = counts.defined() ? ops::logical_or(counts, mask) : mask;
  }
  return all_masked ? ops::where(counts, product, none) : product;
}

}  // namespace

Multiply::Multiply(const Config& config) : Layer(make_merge_node({"Multiply", product_of}, options_of(config))) {}

}  // namespace nyala

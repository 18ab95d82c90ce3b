#include <nyala/api/layers/merging/add.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/merging/merge_layer.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void AddConfig::fields(FieldVisitor&) {}

namespace {

Tensor sum_of(Inputs inputs) {
  Tensor sum = inputs[0];
  for (const Tensor& input : inputs.subspan(1)) sum = ops::add(sum, input);
  return sum;
}

}  // namespace

Add::Add(const Config& config) : Layer(make_merge_node({"Add", sum_of}, options_of(config))) {}

}  // namespace nyala

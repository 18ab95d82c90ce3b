#include <nyala/api/layers/merging/average.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/merging/merge_layer.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void AverageConfig::fields(FieldVisitor&) {}

namespace {

Tensor average_of(Inputs inputs) {
  Tensor sum = inputs[0];
  for (const Tensor& input : inputs.subspan(1)) sum = ops::add(sum, input);
  return sum / static_cast<double>(inputs.size());
}

}  // namespace

Average::Average(const Config& config) : Layer(make_merge_node({"Average", average_of}, options_of(config))) {}

}  // namespace nyala

#include <nyala/api/layers/merging/subtract.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/merging/merge_layer.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

void SubtractConfig::fields(FieldVisitor&) {}

namespace {

Tensor difference_of(Inputs inputs) { return ops::subtract(inputs[0], inputs[1]); }

}  // namespace

Subtract::Subtract(const Config& config)
    : Layer(make_merge_node({"Subtract", difference_of, 2}, options_of(config))) {}

}  // namespace nyala

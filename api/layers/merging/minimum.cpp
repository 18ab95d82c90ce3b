#include <nyala/api/layers/merging/minimum.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/merging/merge_layer.h>
#include <nyala/backend/ops/elementwise/binary.h>

namespace nyala {

using namespace nyala::detail;

void MinimumConfig::fields(FieldVisitor&) {}

namespace {

Tensor minimum_of(Inputs inputs) { return merge_unmasked(inputs, ops::minimum); }

}  // namespace

Minimum::Minimum(const Config& config) : Layer(make_merge_node({"Minimum", minimum_of}, options_of(config))) {}

}  // namespace nyala

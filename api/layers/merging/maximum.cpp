#include <nyala/api/layers/merging/maximum.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/merging/merge_layer.h>
#include <nyala/backend/ops/elementwise/binary.h>

namespace nyala {

using namespace nyala::detail;

void MaximumConfig::fields(FieldVisitor&) {}

namespace {

Tensor maximum_of(Inputs inputs) { return merge_unmasked(inputs, ops::maximum); }

}  // namespace

Maximum::Maximum(const Config& config) : Layer(make_merge_node({"Maximum", maximum_of}, options_of(config))) {}

}  // namespace nyala

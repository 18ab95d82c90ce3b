#pragma once

#include <cstdint>

#include <nyala/api/layers/base/layer.h>

namespace nyala::detail {

/// One call of a model may run as many layers and ops; nested models that call the next one twice each double
/// with each level.
inline constexpr int64_t kMostLayerCalls = int64_t{1} << 18;

/// The layers and ops that one call of `layer` runs, those of nested models included; counts no further than
/// one more than kMostLayerCalls. Time grows with the number of distinct calls, not with the result.
int64_t count_layer_calls(const LayerNode& layer);

/// Throws InvalidArgumentError where one call of `model` would run more than kMostLayerCalls.
void check_layer_calls(const LayerNode& model);

}  // namespace nyala::detail

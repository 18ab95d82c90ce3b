#pragma once

#include <memory>
#include <vector>

#include <nyala/api/model/model_node.h>

namespace nyala {

/// The models that there are, for who knows only a variable of theirs. Called when one is made and when it
/// goes.
void note_model(ModelNode& model);
void forget_model(ModelNode& model) noexcept;
/// Those that belong to `strategy`, in no order.
std::vector<std::shared_ptr<ModelNode>> live_models(const StrategyNode& strategy);

}  // namespace nyala

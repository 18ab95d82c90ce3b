#include <nyala/api/model/live_models.h>

#include <mutex>
#include <set>

#include <nyala/backend/core/mutex.h>

namespace nyala {

namespace {

struct LiveModels {
  Mutex mutex{Mutex::AtFork::is_waited};
  std::set<ModelNode*> all;
};

LiveModels& live() {
  static auto* const models = new LiveModels;  // outlives static models
  return *models;
}

}  // namespace

void note_model(ModelNode& model) {
  const std::lock_guard lock(live().mutex);
  live().all.insert(&model);
}

void forget_model(ModelNode& model) noexcept {
  const std::lock_guard lock(live().mutex);
  live().all.erase(&model);
}

std::vector<std::shared_ptr<ModelNode>> live_models(const StrategyNode& strategy) {
  std::vector<std::shared_ptr<ModelNode>> models;
  const std::lock_guard lock(live().mutex);
  for (ModelNode* const model : live().all)
    if (const auto shared = std::static_pointer_cast<ModelNode>(model->weak_from_this().lock()))
      if (shared->strategy().get() == &strategy) models.push_back(shared);
  return models;
}

}  // namespace nyala

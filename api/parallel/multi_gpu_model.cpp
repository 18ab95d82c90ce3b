#include <nyala/api/parallel/multi_gpu_model.h>

#include <algorithm>

#include <nyala/api/parallel/parallel_node.h>
#include <nyala/backend/core/error.h>
#include <nyala/strategies/one_device.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr const char* kWho = "multi_gpu_model";

/// The variables stay the same, their bytes move.
void relocate(const Model& model) {
  const auto host = default_strategy(Device("cpu:0"));
  if (model.model_node().strategy() != host) Strategy(host).adopt(model);
}

}  // namespace

std::vector<int> GpuSelection::ids(int available) const {
  std::vector<int> ids = ids_;
  // One more than there are is enough to be refused by its name.
  const int count = all_ ? available : std::min(count_, std::max(available, 1) + 1);
  if (all_ || counted_)
    for (int i = 0; i < count; ++i) ids.push_back(i);
  if (ids.size() <= 1)
    throw InvalidArgumentError(
        std::string(kWho) +
        ": expected 2 or more devices, call it with gpus >= 2 or with a list of at least two; received " +
        (all_       ? "none, and there is " + std::to_string(available)
         : counted_ ? "gpus=" + std::to_string(count_)
                    : "a list of " + std::to_string(ids_.size())));
  return ids;
}

Model multi_gpu_model(const Model& model, const MultiGpuModelConfig& config) {
  model.model_node();  // throws for an empty handle
  const int available = static_cast<int>(devices_for_slices().size());
  const std::vector<Device> devices = devices_for_slices(config.gpus.ids(available), kWho);
  if (config.cpu_relocation) relocate(model);
  const Device merge = config.cpu_merge ? Device("cpu:0") : devices[0];
  return make_parallel_model(model, kWho, {.devices = devices, .output_device = merge});
}

}  // namespace nyala

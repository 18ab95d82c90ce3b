#include <nyala/strategies/one_device.h>

#include <map>
#include <mutex>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/in_process.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::shared_ptr<StrategyNode> on_one_device(Device device, std::string name,
                                            std::shared_ptr<ParameterStore> store = nullptr) {
  const bool is_default = store != nullptr;
  return std::make_shared<InProcessStrategy>(InProcessOptions{
      .name = std::move(name), .devices = {device}, .store = std::move(store), .is_default = is_default});
}

}  // namespace

OneDeviceStrategy::OneDeviceStrategy(Device device) : Strategy(on_one_device(device, "OneDeviceStrategy")) {}

std::shared_ptr<StrategyNode> detail::default_strategy(Device device) {
  static auto* const strategies = new std::map<Device, std::shared_ptr<StrategyNode>>;
  static Mutex& mutex = *new Mutex(Mutex::AtFork::is_waited);
  std::lock_guard lock(mutex);
  std::shared_ptr<StrategyNode>& strategy = (*strategies)[device];
  if (!strategy) strategy = on_one_device(device, "default strategy", default_store(device));
  return strategy;
}

}  // namespace nyala

#include <nyala/strategies/mirrored.h>

#include <nyala/strategies/in_process.h>
#include <nyala/strategies/replicas/replica_devices.h>

namespace nyala {

MirroredStrategy::MirroredStrategy(Config config)
    : Strategy(std::make_shared<InProcessStrategy>(
          InProcessOptions{.name = "MirroredStrategy",
                           .devices = replica_devices(config.devices, "MirroredStrategy"),
                           .share_weights = config.shared_weights == SharedWeights::automatic,
                           .bucket_elements = config.bucket_elements,
                           .cross_device_ops = config.cross_device_ops.get(),
                           .device_weights = config.device_weights})) {}

}  // namespace nyala

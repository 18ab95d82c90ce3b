#include <nyala/api/parallel/data_parallel.h>
#include <nyala/api/parallel/parallel_node.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

DeviceSlicesOptions options_of(const DataParallelConfig& config) {
  if (config.dim < 0)
    throw InvalidArgumentError("DataParallel: expected dim >= 0, received " + std::to_string(config.dim));
  const std::vector<Device> devices = config.device_ids.empty()
                                          ? devices_for_slices()
                                          : devices_for_slices(config.device_ids, "DataParallel");
  return {.devices = devices, .output_device = config.output_device.value_or(devices[0]), .axis = config.dim};
}

}  // namespace

DataParallel::DataParallel(const Model& net, const Config& config)
    : Model(make_parallel_model(net, "DataParallel", options_of(config))) {}

Model DataParallel::module() const { return Model(model_node().template_model()); }

}  // namespace nyala

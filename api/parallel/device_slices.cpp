#include <nyala/api/parallel/device_slices.h>

#include <algorithm>

#include <nyala/api/parallel/slice_session.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

using namespace nyala::detail;

DeviceSlices::DeviceSlices(DeviceSlicesOptions options) {
  if (options.devices.empty()) throw InvalidArgumentError("slices need at least one device to work on them");
  for (Device device : options.devices) check_device_exists(device);
  check_device_exists(options.output_device);
  machine_ = std::make_shared<SliceMachine>(std::move(options));
}

const std::vector<Device>& DeviceSlices::devices() const { return machine_->options.devices; }

Device DeviceSlices::output_device() const { return machine_->options.output_device; }

Tensors DeviceSlices::run(Call& outer, const Tensors& inputs, const Work& work) const {
  if (inputs.empty()) throw InvalidArgumentError("there is no input to be cut into slices");
  Tape* tape = outer.tape() && outer.tape()->recording ? outer.tape() : nullptr;
  for (const Tensor& input : inputs)
    if (!tape && input.tape() && input.tape()->recording) tape = input.tape();
  const auto session = std::make_shared<SliceSession>(machine_, inputs);
  outer.begin_pass();  // slices must not count it each by itself
  session->forward(outer, work, tape != nullptr);
  session->pass_state(outer);
  Tensors outputs = session->whole_outputs(), losses = session->whole_losses(inputs[0].device());
  if (tape) SliceSession::record(session, *tape, outputs, losses);
  for (const Tensor& loss : losses) outer.add_loss(loss);
  return outputs;
}

std::vector<Device> devices_for_slices() {
  const std::vector<Device> accelerators = list_logical_devices("gpu");
  return accelerators.empty() ? list_logical_devices("cpu") : accelerators;
}

std::vector<Device> devices_for_slices(const std::vector<int>& index, const std::string& who) {
  const std::vector<Device> present = devices_for_slices();
  std::vector<Device> chosen;
  for (const int i : index) {
    if (i < 0 || i >= static_cast<int>(present.size())) {
      std::vector<std::string> names;
      for (Device device : present) names.push_back(device.to_string());
      throw DeviceNotFoundError(who + ": device " + std::to_string(i) + " of " +
                                std::string(name_of(present[0].kind)) + " devices was asked for; there are " +
                                quoted_list(names));
    }
    const Device device = present[static_cast<size_t>(i)];
    if (std::find(chosen.begin(), chosen.end(), device) != chosen.end())
      throw InvalidArgumentError(who + ": device " + std::to_string(i) + " is named twice");
    chosen.push_back(device);
  }
  return chosen;
}

}  // namespace nyala

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <nyala/backend/parameters/call.h>

namespace nyala {

class SliceMachine;

/// Which devices work, and how tensors are cut for them and put together again.
struct DeviceSlicesOptions {
  std::vector<Device> devices = {};
  Device output_device = {};
  int axis = 0;
};

/// Runs one function on several devices at the same time, each on its slice of the inputs, and makes whole
/// outputs of what they return. To whoever records it is one op: gradients go back on the same devices, and
/// those of a weight are summed in device order on the device that holds it. An axis of G elements is cut
/// into N consecutive pieces whose sizes differ by at most one, larger first (as a strategy cuts a batch); a
/// device beyond them works on none. The slices see each other through Call::replica(): what spans the batch,
/// as BatchNormalization does, gives the numbers of one device. Random numbers follow the global row where
/// axis is 0. A handle, cheap to copy; callers from several threads take turns.
class DeviceSlices {
 public:
  /// What one device computes. `c` is its own; writes of state and add_loss reach the caller's Call.
  using Work = std::function<Tensors(Call& c, const Tensors& inputs)>;

  /// Throws DeviceNotFoundError, InvalidArgumentError for no device.
  explicit DeviceSlices(DeviceSlicesOptions options);

  const std::vector<Device>& devices() const;
  Device output_device() const;

  /// `inputs` have values. Throws ShapeError for inputs of different sizes along the axis or an output that
  /// lacks it, and the first error of a device with its name in the text; the object stays usable.
  Tensors run(Call& outer, const Tensors& inputs, const Work& work) const;

 private:
  std::shared_ptr<SliceMachine> machine_;
};

/// The accelerators that are visible, or, where there are none, the logical CPU devices.
std::vector<Device> devices_for_slices();

/// Elements `index` of devices_for_slices(). Throws InvalidArgumentError, beginning with `who`, for a number
/// named twice, DeviceNotFoundError, naming wanted and present devices, for one that is not there.
std::vector<Device> devices_for_slices(const std::vector<int>& index, const std::string& who);

}  // namespace nyala

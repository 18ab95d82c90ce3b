#pragma once

#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nyala/backend/core/op.h>

namespace nyala {

/// Per op and kind of device an ordered list of kernels; the first that takes the call runs. The op's
/// reference loop is always last on devices whose memory the host can address inside a kernel (cpu, ghost).
class KernelTable {
 public:
  /// Filled once, on first use, by register_kernels().
  static KernelTable& instance();

  /// Appends a kernel; called only from register_kernels().
  void add(const OpDef& op, DeviceKind kind, const Kernel& kernel);

  /// Sorts an op's kernels: they are asked in the order of `names`, of which this build or processor may lack
  /// some. Throws InternalError where an op has a kernel that is not named.
  void order(const OpDef& op, DeviceKind kind, std::span<const std::string_view> names);

  /// The kernel that takes `call` on `kind`. Throws NotFoundError with every refusal when there is none.
  const Kernel& select(const KernelCall& call, DeviceKind kind) const;

  /// The kernel that takes a call with 16-bit floats among its tensors as it is, or null: then it is computed
  /// in float32.
  const Kernel* find_half(const KernelCall& call, DeviceKind kind) const;

  /// The fast kernels of an op on a kind of device, in order of preference.
  std::span<const Kernel> fast_kernels(const OpDef& op, DeviceKind kind) const;

  /// Every op that has a fast kernel, for tests.
  std::vector<const OpDef*> ops_with_kernels(DeviceKind kind) const;

 private:
  using Lists = std::array<std::vector<Kernel>, kDeviceKinds>;
  std::unordered_map<const OpDef*, Lists> fast_;
};

/// Whether a tensor of the call is a 16-bit float.
bool has_half(const KernelCall& call);

/// Adds the kernels of every kind of device. Defined in backend/kernels, so that ops know no kernel.
void register_kernels(KernelTable& table);

}  // namespace nyala

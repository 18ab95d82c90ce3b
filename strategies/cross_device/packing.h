#pragma once

#include <string>
#include <vector>

#include <nyala/strategies/cross_device/cross_device_ops.h>

namespace nyala {

/// Elements [first, first + count) of many tensors laid end to end.
struct Pack {
  int64_t first = 0;
  int64_t count = 0;
};

/// Throws InvalidArgumentError naming `op` for a negative number.
void check_num_packs(const std::string& op, int num_packs);

/// `elements` cut into `num_packs` > 0 packs of floor(elements / num_packs), of which the last takes the
/// rest; empty packs are left out.
std::vector<Pack> packs_of(int64_t elements, int num_packs);

/// batch_reduce() with packing: the entries of one dtype are laid end to end, one buffer per replica, and
/// reduced in `num_packs` pieces by `ops`. num_packs = 0 reduces one by one.
std::vector<Tensors> packed_batch_reduce(const CrossDeviceOps& ops, ReduceOp op,
                                         const std::vector<Tensors>& values,
                                         const std::vector<Device>& destinations, int num_packs);

}  // namespace nyala

#pragma once

#include <string_view>
#include <vector>

#include <nyala/backend/core/device.h>

namespace nyala {

/// What the environment variable NYALA_VISIBLE_DEVICES lets the process see: device names or, for GPUs, bare
/// indices, separated by commas ("gpu:1,gpu:0", "1,0"); "", "-1" and "none" hide every accelerator. The
/// order is the new numbering. Throws InvalidArgumentError for other text and for a device named twice.
std::vector<Device> parse_visible_devices(std::string_view text);

/// Which of `count` GPUs CUDA_VISIBLE_DEVICES leaves, by the CUDA driver's rule: indices separated by commas,
/// the first entry that is no index of a GPU ends the list, an index named twice leaves none. The driver
/// applies it before this process sees a GPU: gpu:0 is the first of the list.
std::vector<int> parse_cuda_visible_devices(std::string_view text, int count);

}  // namespace nyala

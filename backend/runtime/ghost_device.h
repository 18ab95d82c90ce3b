#pragma once

#include <memory>

#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

/// The test device: work runs on another thread after random delays, memory is PROT_NONE outside kernels
/// and explicit copies.
std::unique_ptr<DeviceProvider> make_ghost_provider();

}  // namespace nyala

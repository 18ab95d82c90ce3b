#pragma once

#include <memory>
#include <string_view>

#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

/// The GPUs of this machine: runtime/cuda with the toolkit, an empty twin without.
std::unique_ptr<DeviceProvider> make_gpu_provider();

/// One sentence for the error that somebody who asks for a GPU gets when there is none.
std::string_view why_no_gpu();

}  // namespace nyala

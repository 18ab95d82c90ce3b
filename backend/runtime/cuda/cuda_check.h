#pragma once

#include <cuda_runtime_api.h>

#include <source_location>
#include <string_view>

namespace nyala {

/// Throws OutOfMemoryError or Error with CUDA's text unless `status` is success.
void cuda_check(cudaError_t status, std::string_view what,
                std::source_location where = std::source_location::current());

}  // namespace nyala

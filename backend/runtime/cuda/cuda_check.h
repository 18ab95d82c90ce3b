#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include <nyala/backend/core/source_place.h>

namespace nyala {

/// Throws OutOfMemoryError or Error with CUDA's text unless `status` is success.
void cuda_check(cudaError_t status, std::string_view what,
                SourcePlace where = SourcePlace::here());

}  // namespace nyala

#include <nyala/backend/runtime/cuda/cuda_check.h>

#include <string>

#include <nyala/backend/core/error.h>

namespace nyala {

void cuda_check(cudaError_t status, std::string_view what, SourcePlace where) {
  if (status == cudaSuccess) return;
  const std::string text = std::string(what) + ": " + cudaGetErrorString(status) + " (" + where.file +
                           ":" + std::to_string(where.line) + ")";
  if (status == cudaErrorMemoryAllocation) throw OutOfMemoryError(text);
  throw Error(text);
}

}  // namespace nyala

#pragma once

#include <cstdint>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/core/tensor.h>

namespace nyala::detail {

/// A variable's values in another dtype, for passes without gradients: cast once, and again when the bytes
/// that they were made of have been written. Thread-safe.
class CastCache {
 public:
  /// `value`, the bytes of copy `copy`, in `dtype`.
  Tensor get(const Tensor& value, DType dtype, size_t copy);
  /// Gives the memory back: whoever trains casts anew in each step.
  void clear();

 private:
  struct Entry {
    Tensor cast;
    const Storage* storage = nullptr;
    size_t offset = 0;
    uint64_t version = 0;
  };

  Mutex mutex_;
  std::vector<Entry> of_copies_;
};

}  // namespace nyala::detail

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

/// Copies of weights in the layout of one kernel, kept as long as the weights' storage does not change. A
/// copy is made when weights come unchanged for the second time: where each training step changes them in
/// between, none takes memory. Several calls may read one copy. Thread-safe.
class PackedWeights {
  struct Copy {
    const Storage* storage = nullptr;
    size_t offset = 0, size = 0;
    uint64_t version = 0;  // as last seen; that of the bytes where there are any
    int readers = 0;
    bool filled = false;  // with this version
    std::unique_ptr<char[]> bytes;
    char* data = nullptr;  // aligned to 64 bytes
  };

 public:
  /// While it lives the copy stays as it is.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), copy_(other.copy_) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(copy_, other.copy_);
      return *this;
    }
    ~Use() {
      if (!owner_ || !owner_->mutex_.lock_unless_lost()) return;
      const std::lock_guard lock(owner_->mutex_, std::adopt_lock);
      --copy_->readers;
    }
    /// Null where no copy could be had.
    const void* data() const { return owner_ ? copy_->data : nullptr; }

   private:
    friend class PackedWeights;
    Use(PackedWeights* owner, Copy* copy) : owner_(owner), copy_(copy) { ++copy->readers; }
    PackedWeights* owner_ = nullptr;
    Copy* copy_ = nullptr;
  };

  /// The copy of `weights`; `fill(place)` writes its `bytes` bytes when it is made. Empty where weights come
  /// for the first time in this version, where the copy is being read in another one, or too many are kept.
  template <class Fill>
  Use find_or_fill(const Tensor& weights, size_t bytes, Fill&& fill) {
    if (!mutex_.lock_unless_lost()) return {};  // in a forked child: one was being filled by another thread
    const std::lock_guard lock(mutex_, std::adopt_lock);
    const Storage* storage = weights.storage().get();
    const uint64_t version = storage->version();
    Copy* copy = find(storage, weights.storage_offset(), bytes);
    if (copy && copy->version == version) {
      if (!copy->filled && !fill_copy(*copy, bytes, fill)) return {};
      return Use(this, copy);
    }
    if (copy && copy->readers > 0) return {};
    const bool moves = !copy;
    if (!copy) copy = vacant();
    if (!copy) return {};
    if (moves || !copy->filled) copy->bytes.reset();  // weights that come once per version
    copy->storage = storage;
    copy->offset = weights.storage_offset();
    copy->size = bytes;
    copy->version = version;
    copy->filled = false;
    return {};
  }

 private:
  static constexpr size_t kCapacity = 32;

  Copy* find(const Storage* storage, size_t offset, size_t size) {
    for (const auto& copy : copies_)
      if (copy->storage == storage && copy->offset == offset && copy->size == size) return copy.get();
    return nullptr;
  }

  template <class Fill>
  static bool fill_copy(Copy& copy, size_t bytes, Fill&& fill) {
    if (!copy.bytes) copy.bytes.reset(new (std::nothrow) char[bytes + 64]);
    if (!copy.bytes) return false;  // works without
    copy.data = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(copy.bytes.get()) + 63) / 64 * 64);
    fill(copy.data);
    copy.filled = true;
    return true;
  }

  /// A copy nobody reads: a new one, or where there are many the one with the oldest version.
  Copy* vacant() {
    if (copies_.size() < kCapacity) return copies_.emplace_back(std::make_unique<Copy>()).get();
    Copy* oldest = nullptr;
    for (const auto& copy : copies_)
      if (copy->readers == 0 && (!oldest || copy->version < oldest->version)) oldest = copy.get();
    return oldest;
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<Copy>> copies_;
};

}  // namespace nyala

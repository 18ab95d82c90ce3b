#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <nyala/backend/core/device.h>

namespace nyala {

class Storage;

/// Takes back storages nobody refers to any more. One per device; may cache them for the next request.
class StorageOwner {
 public:
  virtual ~StorageOwner() = default;
  /// Called once when the last StorageRef goes, from whichever thread dropped it.
  virtual void reclaim(Storage* storage) noexcept = 0;
};

/// Bytes on one device. Counted by StorageRef; born from and returned to a StorageOwner.
class Storage {
 public:
  Storage(void* data, size_t bytes, Device device, StorageOwner* owner)
      : data_(data), bytes_(bytes), device_(device), owner_(owner) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  /// Changes with every write, and never repeats, neither for this object nor for a later one at its address:
  /// caches of derived data key on both.
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

  /// Of the last write over bytes that a tape may hold: Tape::note_write.
  uint64_t last_write() const { return last_write_.load(std::memory_order_relaxed); }
  void set_last_write(uint64_t number) { last_write_.store(number, std::memory_order_relaxed); }

 private:
  friend class StorageRef;
  void* data_;
  size_t bytes_;
  Device device_;
  StorageOwner* owner_;
  inline static std::atomic<uint64_t> births_{0};
  std::atomic<uint64_t> version_{births_.fetch_add(1, std::memory_order_relaxed) << 32};
  std::atomic<uint64_t> last_write_{0};
  std::atomic<uint32_t> references_{0};
};

/// Shared ownership of a Storage without a control block, so that a recycled storage costs no allocation.
class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* storage) : storage_(storage) { retain(); }
  StorageRef(const StorageRef& other) : storage_(other.storage_) { retain(); }
  StorageRef(StorageRef&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StorageRef& operator=(StorageRef other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StorageRef() { release(); }

  Storage* get() const { return storage_; }
  Storage* operator->() const { return storage_; }
  explicit operator bool() const { return storage_ != nullptr; }
  /// True while no other reference exists.
  bool unique() const { return storage_ && storage_->references_.load(std::memory_order_acquire) == 1; }

 private:
  void retain() {
    if (storage_) storage_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (storage_ && storage_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      storage_->owner_->reclaim(storage_);
  }
  Storage* storage_ = nullptr;
};

}  // namespace nyala

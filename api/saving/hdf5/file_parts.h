#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala::hdf5 {

/// A file in memory.
struct FileImage {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< keeps `bytes` alive
};

/// A finished file that has not been put together: the bytes that describe its values, and behind them the
/// values, which stay where they are until they are sent.
class FileParts {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  explicit FileParts(FileImage head) : head_(std::move(head)), size_(head_.bytes.size()) {}

  /// Puts values behind what is there and returns their place in the file, a multiple of kAlignment.
  uint64_t append(const Tensor& values);
  uint64_t size() const { return size_; }
  /// Gives the file's bytes in order, piece by piece. May be called again. Values of another device are
  /// copied to the host one tensor at a time.
  void send(const Sink& sink) const;
  /// All bytes in one piece.
  FileImage join() const;

  static constexpr uint64_t kAlignment = 8;

 private:
  struct Values {
    uint64_t begin;
    Tensor tensor;
  };

  FileImage head_;
  std::vector<Values> values_;
  uint64_t size_;
};

}  // namespace nyala::hdf5

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {
class AtomicFile;
}

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

  /// `owner` keeps `head`, the first part, alive.
  FileParts(std::span<std::byte> head, std::shared_ptr<const void> owner)
      : head_(head), owner_(std::move(owner)), size_(head.size()) {}

  /// Puts values behind what is there and returns their place in the file, a multiple of kAlignment.
  uint64_t append(const Tensor& values);
  /// Says that the first part has their CRC-32C, four bytes at `place`: written when they are sent.
  void add_checksum(uint64_t place);
  uint64_t size() const { return size_; }
  /// Gives the file's bytes in order, piece by piece. May be called again. Values of another device are
  /// copied to the host one tensor at a time. With checksums all values are gone through before.
  void send(const Sink& sink) const;
  /// The same to a file, whose beginning is written again where there are checksums.
  void send(AtomicFile& file) const;
  /// All bytes in one piece.
  FileImage join() const;

  static constexpr uint64_t kAlignment = 8;

 private:
  static constexpr uint64_t kNone = UINT64_MAX;
  struct Values {
    uint64_t begin;
    Tensor tensor;
    uint64_t checksum = kNone;  ///< its place in the head
  };
  void send_values(const Sink& sink) const;

  std::span<std::byte> head_;
  std::shared_ptr<const void> owner_;
  bool has_checksums_ = false;
  std::vector<Values> values_;
  uint64_t size_;
};

}  // namespace nyala::hdf5

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <nyala/files/base/file_bytes.h>

namespace nyala {

/// A range of bytes that lies in memory or in a file: a handle that keeps them. Where it lies in a large file
/// nothing is read before it is asked for. Members throw IoError, and InternalError for bytes beyond the end.
class StoredBytes {
 public:
  StoredBytes() = default;
  /// In memory that `owner` keeps alive; null where the caller does.
  explicit StoredBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner = {});
  /// All of a file.
  explicit StoredBytes(std::shared_ptr<const FileBytes> file);

  uint64_t size() const { return size_; }
  bool in_memory() const { return !file_; }
  StoredBytes part(uint64_t begin, uint64_t count) const;
  /// In memory, as long as one of the handles lives: for headers and texts, see FileBytes::part.
  std::span<const std::byte> bytes(uint64_t begin, uint64_t count) const;
  std::span<const std::byte> bytes() const { return bytes(0, size_); }
  /// Where they lie, or copied to `buffer`, which becomes as large.
  std::span<const std::byte> bytes(uint64_t begin, uint64_t count, std::vector<std::byte>& buffer) const;
  void read(uint64_t begin, std::span<std::byte> out) const;
  /// Calls `take` with all bytes, in order; those in a file in pieces of no more than `piece` bytes.
  void for_each_piece(size_t piece, const std::function<void(std::span<const std::byte>)>& take) const;
  /// What keeps bytes in memory.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  void check_inside(uint64_t begin, uint64_t count) const;

  std::shared_ptr<const void> owner_;
  std::shared_ptr<const FileBytes> file_;  // null: in memory
  const std::byte* memory_ = nullptr;
  uint64_t begin_ = 0, size_ = 0;  // in the file
};

}  // namespace nyala

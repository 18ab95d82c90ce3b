#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include <nyala/backend/core/mutex.h>

namespace nyala {

/// The bytes of a file, read only. Files up to kMaxCopied bytes are read into memory at once; of larger ones
/// what is asked for, by read() to where it belongs and by part() into memory that this keeps. Nothing is
/// mapped, so that a file which another program shortens or writes to in place is an IoError, and nothing
/// worse: all bytes are those of one moment. One that is replaced by renaming, as Nyala does, is read as it
/// was. May be used by several threads at once.
class FileBytes {
 public:
  static constexpr size_t kMaxCopied = size_t{16} << 20;

  /// Throws IoError (path and reason of the system) if `path` is no regular file or cannot be read, or others
  /// keep writing to it, OutOfMemoryError where memory is what is missing. A file that was written to within
  /// the last two ticks of the system's clock is waited for, for milliseconds.
  static std::shared_ptr<const FileBytes> open(const std::string& path);

  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  /// Whether all of it lies in memory.
  bool in_memory() const { return descriptor_ < 0; }
  /// `count` bytes from `begin`, in memory as long as this lives: for headers and texts, not for values.
  /// Throws IoError, InternalError where the file has never had them.
  std::span<const std::byte> part(uint64_t begin, uint64_t count) const;
  /// Copies the bytes from `begin` to `out`. Throws as part().
  void read(uint64_t begin, std::span<std::byte> out) const;

 private:
  FileBytes(std::string path, int descriptor);
  void check_inside(uint64_t begin, uint64_t count) const;
  void fetch(uint64_t begin, std::span<std::byte> out) const;
  void keep_page(uint64_t page) const;

  std::string path_;
  int descriptor_ = -1;  ///< open while the file does not lie in memory
  uint64_t size_ = 0;
  timespec written_{};           ///< when the file was changed last
  std::vector<std::byte> copy_;  ///< of all, where it lies in memory

  mutable Mutex mutex_;
  mutable std::byte* room_ = nullptr;          ///< for all bytes: pages take memory when they are kept
  mutable std::unordered_set<uint64_t> kept_;  ///< pages
};

}  // namespace nyala

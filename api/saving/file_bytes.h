#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nyala {

/// The bytes of a file, read only. Files up to kMaxCopied bytes are read into memory; larger ones are mapped,
/// so that only the pages in use occupy memory. A mapped file that another program shortens cannot be looked
/// at any more (the system kills the reader): what is large, read() copies out of the file instead, which is
/// an error then, and check_present() comes before the rest. A file that is replaced by renaming, as Nyala
/// does, is safe.
class FileBytes {
 public:
  static constexpr size_t kMaxCopied = size_t{16} << 20;

  /// Throws IoError (path and reason of the system) if `path` is no regular file or cannot be read.
  static std::shared_ptr<const FileBytes> open(const std::string& path);

  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }
  bool is_mapped() const { return descriptor_ >= 0; }
  /// Copies `part` of the bytes to `out`, which is as large. Throws IoError (path, and that it became
  /// shorter) where the file does not have it any more.
  void read(std::span<const std::byte> part, std::span<std::byte> out) const;
  /// Throws IoError if the mapped file has become shorter since it was opened.
  void check_present() const;
  /// Says that `part` of the bytes is not needed for now: where the file is mapped, its pages no longer count
  /// as this process's memory. They come back when they are touched.
  void forget(std::span<const std::byte> part) const noexcept;

 private:
  FileBytes(std::string path, int descriptor);
  void read_all(size_t size);
  void map_all(size_t size);

  std::string path_;
  int descriptor_ = -1;  ///< open while mapped
  std::vector<std::byte> copy_;
  std::span<const std::byte> bytes_;
};

}  // namespace nyala

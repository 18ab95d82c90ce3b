#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace nyala::datasets {

/// Reads a plain or gzip-compressed file front to back; gzip is recognised by its first two bytes, not
/// by the name. Strict: a damaged or truncated gzip stream, a wrong checksum or bytes after the stream
/// throw FileFormatError naming the file and the place; several gzip members in a row are one stream.
/// Reading uses a fixed 64 KiB of memory. One thread at a time.
class ByteReader {
 public:
  static constexpr uint64_t kNoLimit = UINT64_MAX;

  /// Opens `path`. A file that unpacks to more than `max_bytes` throws FileFormatError while reading.
  /// Throws IoError when the file cannot be opened.
  explicit ByteReader(const std::filesystem::path& path, uint64_t max_bytes = kNoLimit);
  ~ByteReader();
  ByteReader(ByteReader&&) noexcept;
  ByteReader& operator=(ByteReader&&) noexcept;

  /// Fills `out` and returns the number of bytes; less than asked for only at the end.
  size_t read(std::span<uint8_t> out);

  /// Fills `out` whole. Throws FileFormatError naming `what`, the expected and the found byte counts.
  void read_exactly(std::span<uint8_t> out, std::string_view what);

  /// Reads and drops `count` bytes. Throws like read_exactly.
  void skip(uint64_t count, std::string_view what);

  /// Throws FileFormatError unless everything has been read; `what` says what should have ended here.
  void expect_end(std::string_view what);

  /// Unpacked bytes read so far.
  uint64_t position() const;
  /// Bytes of the file as it lies on the disk.
  uint64_t file_size() const;
  /// True for a gzip file.
  bool is_compressed() const;
  const std::filesystem::path& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nyala::datasets

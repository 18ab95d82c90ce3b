#pragma once

#include <filesystem>
#include <span>

#include <nyala/backend/core/shape.h>
#include <nyala/datasets/io/byte_reader.h>

namespace nyala::datasets {

/// An idx file of unsigned bytes, the format of MNIST, plain or gzip: the bytes 0, 0, 8 (type), rank,
/// then the sizes as big-endian 32-bit numbers, then the values, the last axis fastest.
/// Everything that is not exactly so throws FileFormatError naming file, expected and found.
class IdxFile {
 public:
  /// Opens the file and reads its head, which must have `rank` axes.
  IdxFile(const std::filesystem::path& path, int rank);

  const Shape& shape() const { return shape_; }
  const std::filesystem::path& path() const { return reader_.path(); }

  /// Reads all values; `out` holds exactly shape().num_elements() bytes. The file must end there.
  /// May be called once.
  void read(std::span<uint8_t> out);

 private:
  ByteReader reader_;
  Shape shape_;
};

}  // namespace nyala::datasets

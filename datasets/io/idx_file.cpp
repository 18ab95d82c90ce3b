#include <nyala/datasets/io/idx_file.h>

#include <array>
#include <string>

#include <nyala/backend/core/error.h>

namespace nyala::datasets {

using namespace nyala::detail;

namespace {

/// Deflate packs at most 1032 bytes into one (zlib's technical notes).
constexpr uint64_t kLargestGzipRatio = 1032;

std::string hex_bytes(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (uint8_t byte : bytes) {
    if (!out.empty()) out += ' ';
    out += {kDigits[byte / 16], kDigits[byte % 16]};
  }
  return out;
}

}  // namespace

IdxFile::IdxFile(const std::filesystem::path& path, int rank) : reader_(path) {
  std::array<uint8_t, 4> magic;
  reader_.read_exactly(magic, "idx magic number");
  const std::array<uint8_t, 4> expected = {0, 0, 8, static_cast<uint8_t>(rank)};
  if (magic != expected)
    throw FileFormatError(path.string() + ": expected the idx magic number " + hex_bytes(expected) +
                          " (unsigned bytes, " + std::to_string(rank) + " axes), found " + hex_bytes(magic));
  uint64_t total = 1;
  const uint64_t most =
      reader_.is_compressed() ? reader_.file_size() * kLargestGzipRatio : reader_.file_size();
  for (int axis = 0; axis < rank; ++axis) {
    std::array<uint8_t, 4> size;
    reader_.read_exactly(size, "idx sizes");
    shape_.append(int64_t{size[0]} << 24 | int64_t{size[1]} << 16 | int64_t{size[2]} << 8 | size[3]);
    const bool overflow = __builtin_mul_overflow(total, static_cast<uint64_t>(shape_.back()), &total);
    if (overflow || total > most)  // before anybody allocates what a damaged head asks for
      throw FileFormatError(path.string() + ": expected values of shape " + shape_.to_string() +
                            (axis + 1 < rank ? " and more axes" : "") +
                            " after the idx head, found a file of " + std::to_string(reader_.file_size()) +
                            " bytes, which cannot hold them");
  }
}

void IdxFile::read(std::span<uint8_t> out) {
  check_internal(static_cast<int64_t>(out.size()) == shape_.num_elements(), "idx buffer of another size");
  reader_.read_exactly(out, "idx values for shape " + shape_.to_string());
  reader_.expect_end("idx head and values for shape " + shape_.to_string());
}

}  // namespace nyala::datasets

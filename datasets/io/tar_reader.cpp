// POSIX ustar: blocks of 512 bytes, a header with numbers in octal text, then the content, in one pass from
// front to back, so that a packed archive is never unpacked to the disk.
#include <nyala/datasets/io/tar_reader.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <nyala/backend/core/error.h>

namespace nyala::datasets {

namespace {

constexpr size_t kBlock = 512;
using Block = std::array<uint8_t, kBlock>;

struct Field {
  size_t offset, length;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagic{257, 5}, kPrefix{345, 155};
constexpr size_t kType = 156;

/// The characters of a field up to its first zero byte.
std::string_view text(const Block& block, Field field) {
  const std::string_view all(reinterpret_cast<const char*>(block.data()) + field.offset, field.length);
  return all.substr(0, all.find('\0'));
}

uint64_t octal(const Block& block, Field field, const ByteReader& source) {
  std::string_view digits = text(block, field);
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  uint64_t value = 0;
  for (char digit : digits) {
    if (digit < '0' || digit > '7')
      throw FileFormatError(source.path().string() +
                            ": expected an octal number in the tar header before byte " +
                            std::to_string(source.position()) + ", found '" + std::string(digits) + "'");
    value = value * 8 + static_cast<uint64_t>(digit - '0');
  }
  return value;
}

/// POSIX: the sum of all header bytes, the checksum field counted as blanks.
void check_sum(const Block& block, const ByteReader& source) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool in_field = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.length;
    sum += in_field ? uint64_t{' '} : uint64_t{block[i]};
  }
  const uint64_t stored = octal(block, kChecksum, source);
  if (sum != stored)
    throw FileFormatError(source.path().string() + ": expected a tar header with checksum " +
                          std::to_string(sum) + " before byte " + std::to_string(source.position()) +
                          ", found " + std::to_string(stored));
}

bool is_zero(const Block& block) {
  return std::all_of(block.begin(), block.end(), [](uint8_t byte) { return byte == 0; });
}

}  // namespace

void TarReader::pass_over_rest() {
  source_.skip(unread_ + padding_, "tar entry " + detail::in_quotes(name_));
  unread_ = padding_ = 0;
}

bool TarReader::next(TarEntry& entry) {
  for (;;) {
    pass_over_rest();
    Block block;
    source_.read_exactly(block, "tar header");
    if (is_zero(block)) return false;
    check_sum(block, source_);
    name_ = std::string(text(block, kName));
    const std::string_view prefix = text(block, kPrefix);
    if (text(block, kMagic) == "ustar" && block[kMagic.offset + 5] == 0 && !prefix.empty())
      name_ = std::string(prefix) + "/" + name_;
    unread_ = octal(block, kSize, source_);
    padding_ = (kBlock - unread_ % kBlock) % kBlock;
    const char type = static_cast<char>(block[kType]);
    if (type == '0' || type == '\0') {
      entry = {name_, unread_};
      return true;
    }
    if (std::string_view("5xgLK").find(type) == std::string_view::npos)
      throw FileFormatError(source_.path().string() +
                            ": expected files and folders in the tar archive, found " +
                            detail::in_quotes(name_) + " of type '" + std::string(1, type) + "'");
  }
}

void TarReader::read(std::span<uint8_t> out) {
  if (out.size() > unread_)
    throw FileFormatError(source_.path().string() + ": expected at least " + std::to_string(out.size()) +
                          " more bytes in tar entry " + detail::in_quotes(name_) + ", found " +
                          std::to_string(unread_));
  source_.read_exactly(out, "tar entry " + detail::in_quotes(name_));
  unread_ -= out.size();
}

}  // namespace nyala::datasets

// A look through a picture's bytes before the decoder gets them: stb_image trusts tables, sizes and markers
// that a damaged file does not have. For each format the structure is walked (JPEG segments, PNG chunks with
// checksums, GIF blocks), and a size that its bytes cannot hold even at the best ratio of its packing is
// refused before memory is taken.
#include <nyala/datasets/image/image_bytes.h>

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

using Bytes = std::span<const uint8_t>;

bool starts_with(Bytes bytes, std::string_view text, size_t at = 0) {
  return bytes.size() >= at + text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

/// Reads a picture's bytes front to back; whatever is asked for beyond the end is the error of a file that
/// was cut off.
class Walker {
 public:
  Walker(Bytes bytes, const std::string& name, std::string_view format)
      : bytes_(bytes), name_(name), format_(format) {}

  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }
  Bytes take(uint64_t count) {
    if (count > left())
      fail("it is cut off: expected " + std::to_string(count) + " more bytes behind byte " +
           std::to_string(position_) + ", found " + std::to_string(left()));
    const Bytes out = bytes_.subspan(position_, static_cast<size_t>(count));
    position_ += static_cast<size_t>(count);
    return out;
  }
  /// The same for a part of the bytes.
  Walker within(Bytes part) const { return Walker(part, name_, format_); }
  uint8_t byte() { return take(1)[0]; }
  uint32_t big(size_t size) {
    uint32_t value = 0;
    for (uint8_t part : take(size)) value = value << 8 | part;
    return value;
  }
  uint32_t little(size_t size) {
    const Bytes parts = take(size);
    uint32_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | parts[i];
    return value;
  }
  void go_to(uint64_t position) {
    position_ = 0;
    take(position);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw FileFormatError(name_ + ": the " + std::string(format_) + " picture is damaged: " + what);
  }

 private:
  Bytes bytes_;
  const std::string& name_;
  std::string_view format_;
  size_t position_ = 0;
};

/// Pictures of so many pixels are decoded whatever their bytes: a GIF's first frame may cover a corner only.
constexpr uint64_t kFreePixels = uint64_t{1} << 20;

struct Size {
  uint64_t width = 0, height = 0;
};

/// `least` is what the pixels take at least, in whatever unit `held` is.
void check_size(const Walker& walker, Size size, uint64_t least, uint64_t held) {
  if (size.width * size.height > kFreePixels && least > held)
    walker.fail("its header promises " + std::to_string(size.height) + " x " + std::to_string(size.width) +
                " pixels, which its bytes cannot hold");
}

constexpr uint8_t kFill = 0xff, kStartOfImage = 0xd8, kEndOfImage = 0xd9, kStartOfScan = 0xda,
                  kHuffmanTables = 0xc4, kProgressive = 0xc2;

bool is_restart(uint8_t marker) { return marker >= 0xd0 && marker <= 0xd7; }

/// The next marker; bytes of a scan on the way there are passed over.
uint8_t next_marker(Walker& walker) {
  for (;;) {
    while (walker.byte() != kFill) {
    }
    uint8_t marker = kFill;
    while (marker == kFill) marker = walker.byte();
    if (marker != 0 && !is_restart(marker)) return marker;
  }
}

/// The names of Huffman tables as files write them: the kind, and the number in the lower four bits.
using HuffmanTables = std::set<int>;
constexpr int kDc = 0x00, kAc = 0x10;

/// Decoders trust that a table has at most 256 codes and lies within its segment.
void check_huffman_tables(Walker segment, HuffmanTables& defined) {
  constexpr int kMostCodes = 256;
  while (segment.left() > 0) {
    defined.insert(segment.byte());
    int codes = 0;
    for (const uint8_t count : segment.take(16)) codes += count;
    if (codes > kMostCodes) segment.fail("a Huffman table has " + std::to_string(codes) + " codes");
    segment.take(static_cast<uint64_t>(codes));
  }
}

/// Decoders trust that the tables of a scan came before it.
void check_scan(Walker segment, bool progressive, const HuffmanTables& defined) {
  const uint64_t count = segment.byte();
  const Bytes components = segment.take(2 * count);  // the name of each, and the numbers of its tables
  const int first = segment.byte();
  segment.take(1);
  const bool refines = segment.byte() >> 4 != 0;
  const auto expect = [&](int kind) {
    for (size_t i = 1; i < components.size(); i += 2) {
      const int number = kind == kDc ? components[i] >> 4 : components[i] & 15;
      if (!defined.contains(kind | number))
        segment.fail(std::string("a scan uses ") + (kind == kDc ? "DC" : "AC") + " Huffman table " +
                     std::to_string(number) + ", which is not there");
    }
  };
  if (!progressive || (first == 0 && !refines)) expect(kDc);
  if (!progressive || first > 0) expect(kAc);
}

bool is_frame(uint8_t marker) {
  constexpr uint8_t kFirst = 0xc0, kLast = 0xcf, kExtension = 0xc8, kArithmetic = 0xcc;
  return marker >= kFirst && marker <= kLast && marker != kHuffmanTables && marker != kExtension &&
         marker != kArithmetic;
}

/// Each block of 8 x 8 values of a component takes a bit of the file, and a second one unless later scans of
/// a progressive picture may share one among many blocks.
void check_frame(const Walker& walker, Walker segment, bool progressive, uint64_t file_bytes) {
  constexpr uint64_t kBlock = 8;
  segment.take(1);
  const uint64_t height = segment.big(2), width = segment.big(2);
  const Bytes components = segment.take(3 * uint64_t{segment.byte()});  // name, sampling factors, table
  uint64_t most_across = 1, most_down = 1, blocks = 0;
  for (size_t i = 1; i < components.size(); i += 3) {
    most_across = std::max<uint64_t>(most_across, components[i] >> 4);
    most_down = std::max<uint64_t>(most_down, components[i] & 15);
  }
  for (size_t i = 1; i < components.size(); i += 3)
    blocks += (width * (components[i] >> 4) / most_across / kBlock) *
              (height * (components[i] & 15) / most_down / kBlock);
  check_size(walker, {width, height}, progressive ? blocks : 2 * blocks, 8 * file_bytes);
}

void check_jpeg(Walker& walker) {
  HuffmanTables tables;
  const uint64_t file_bytes = walker.left();
  bool scanned = false, progressive = false;
  for (;;) {
    const uint8_t marker = next_marker(walker);
    if (marker == kStartOfImage || marker == 1) continue;
    if (marker == kEndOfImage) break;
    const uint32_t length = walker.big(2);
    if (length < 2)
      walker.fail("a segment before byte " + std::to_string(walker.position()) + " has no length");
    const Bytes segment = walker.take(length - 2);
    progressive = progressive || marker == kProgressive;
    if (is_frame(marker)) check_frame(walker, walker.within(segment), progressive, file_bytes);
    if (marker == kHuffmanTables) check_huffman_tables(walker.within(segment), tables);
    if (marker == kStartOfScan) {
      check_scan(walker.within(segment), progressive, tables);
      scanned = true;
    }
  }
  if (!scanned) walker.fail("it ends without any pixels");
}

int channels_of_png(uint8_t color_type) {
  switch (color_type) {
    case 2:
      return 3;
    case 4:
      return 2;
    case 6:
      return 4;
    default:
      return 1;
  }
}

void check_png(Walker& walker) {
  constexpr uint64_t kBestDeflate = 1032;  // the largest ratio that the format can reach
  walker.take(8);
  uint64_t packed = 0, pixel_bytes = 0;
  for (;;) {
    const uint32_t length = walker.big(4);
    const size_t begin = walker.position();
    const Bytes chunk = walker.take(uint64_t{length} + 4);
    const std::string type(chunk.begin(), chunk.begin() + 4);
    const uint32_t stored = walker.big(4);
    const bool critical = (chunk[0] & 0x20) == 0;
    if (critical && crc32(0, chunk.data(), static_cast<uInt>(chunk.size())) != stored)
      walker.fail("the checksum of chunk " + printable(type) + " at byte " + std::to_string(begin) +
                  " is wrong");
    if (type == "IHDR" && length >= 13) {
      Walker header(chunk.subspan(4), type, "PNG");
      const uint64_t width = header.big(4), height = header.big(4);
      const uint64_t depth = header.byte();
      const uint64_t bits = width * depth * static_cast<uint64_t>(channels_of_png(header.byte()));
      pixel_bytes = height != 0 && bits > UINT64_MAX / height ? UINT64_MAX : bits * height / 8;
    }
    if (type == "IDAT") packed += length;
    if (type == "IEND") break;
  }
  if (pixel_bytes / kBestDeflate > packed)
    walker.fail("its header promises " + std::to_string(pixel_bytes) + " bytes of pixels, which " +
                std::to_string(packed) + " packed bytes cannot hold");
}

void check_bmp(Walker& walker) {
  constexpr uint32_t kOldHeader = 12, kUncompressed = 0, kRuns8 = 1, kRuns4 = 2, kBitFields = 3;
  walker.take(10);
  const uint32_t offset = walker.little(4), header = walker.little(4);
  const bool old = header == kOldHeader;
  const auto width = old ? static_cast<int64_t>(walker.little(2)) : static_cast<int32_t>(walker.little(4));
  const auto signed_height =
      old ? static_cast<int64_t>(walker.little(2)) : static_cast<int32_t>(walker.little(4));
  walker.take(2);
  const uint64_t bits = walker.little(2);
  const uint32_t compression = old ? kUncompressed : walker.little(4);
  if (width <= 0 || signed_height == 0) walker.fail("it has no pixels");
  if (compression == kRuns8 || compression == kRuns4) return;  // the decoder says that it cannot
  if (compression != kUncompressed && compression != kBitFields)
    walker.fail("its pixels are packed in the unknown way " + std::to_string(compression));
  const uint64_t height = static_cast<uint64_t>(std::abs(signed_height));
  const uint64_t row_bits = static_cast<uint64_t>(width) * bits;
  const uint64_t row = (row_bits + 31) / 32 * 4;
  walker.go_to(offset);
  walker.take((height - 1) * row + (row_bits + 7) / 8);  // the last row may lack its padding
}

uint64_t bytes_of_gif_palette(uint8_t flags) { return flags & 0x80 ? 3u << ((flags & 7) + 1) : 0u; }

void pass_over_blocks(Walker& walker) {
  while (const uint8_t size = walker.byte()) walker.take(size);
}

/// Up to the end of the first frame.
void check_gif(Walker& walker) {
  constexpr uint64_t kBestLzw = 2731;  // pixels of a byte: a code of 12 bits stands for at most 4096
  const uint64_t file_bytes = walker.left();
  walker.take(6);
  const uint64_t width = walker.little(2), height = walker.little(2);
  check_size(walker, {width, height}, width * height / kBestLzw, file_bytes);
  const uint8_t flags = walker.byte();
  walker.take(2 + bytes_of_gif_palette(flags));
  for (;;) {
    const uint8_t kind = walker.byte();
    if (kind == ';') walker.fail("it ends without any frame");
    if (kind == '!') {
      walker.take(1);
      pass_over_blocks(walker);
      continue;
    }
    if (kind != ',')
      walker.fail("expected a block at byte " + std::to_string(walker.position() - 1) + ", found kind " +
                  std::to_string(kind));
    walker.take(8);
    const uint8_t frame = walker.byte();
    walker.take(bytes_of_gif_palette(frame) + 1);
    return pass_over_blocks(walker);
  }
}

/// The name of a format that is known by its first bytes, but not read; "" for others.
std::string_view other_format(Bytes bytes) {
  if (starts_with(bytes, "RIFF") && starts_with(bytes, "WEBP", 8)) return "a WebP picture";
  if (starts_with(bytes, "II*") || starts_with(bytes, "MM")) return "a TIFF picture";
  if (starts_with(bytes, "ftyp", 4)) return "an AVIF or HEIC picture";
  if (starts_with(bytes, "<svg") || starts_with(bytes, "<?xml")) return "an SVG picture";
  if (starts_with(bytes, "<")) return "a web page";
  return "";
}

}  // namespace

ImageFormat image_format_of(Bytes bytes, const std::string& name) {
  if (starts_with(bytes, "\xff\xd8\xff")) return ImageFormat::jpeg;
  if (starts_with(bytes, "\x89PNG\r\n\x1a\n")) return ImageFormat::png;
  if (starts_with(bytes, "GIF87a") || starts_with(bytes, "GIF89a")) return ImageFormat::gif;
  if (starts_with(bytes, "BM")) return ImageFormat::bmp;
  const std::string_view other = other_format(bytes);
  throw FileFormatError(name + ": expected a JPEG, PNG, BMP or GIF picture, found " +
                        (bytes.empty()    ? "an empty file"
                         : !other.empty() ? std::string(other)
                                          : "bytes that are none of these"));
}

void check_image_bytes(ImageFormat format, Bytes bytes, const std::string& name) {
  static constexpr std::string_view kNames[] = {"JPEG", "PNG", "BMP", "GIF"};
  Walker walker(bytes, name, kNames[static_cast<size_t>(format)]);
  switch (format) {
    case ImageFormat::jpeg:
      return check_jpeg(walker);
    case ImageFormat::png:
      return check_png(walker);
    case ImageFormat::bmp:
      return check_bmp(walker);
    case ImageFormat::gif:
      return check_gif(walker);
  }
}

}  // namespace nyala

// One pass: each entry's header is written first, and again with the CRC-32 when the data are known. An extra
// field pads a header so that the data begin at a multiple of 64 bytes.
#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/files/base/crc32.h>
#include <nyala/files/zip/archive.h>
#include <nyala/files/zip/archive_writer.h>

namespace nyala::zip {

namespace {

constexpr uint16_t kVersion = 20, kVersion64 = 45, kUtf8 = 0x0800, kZip64Field = 1;
constexpr uint64_t kFirstDay = 0x00210000;  // 1980-01-01, midnight

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

/// An extra field of zeros (the one that Android's zipalign writes) that moves a member's data to a multiple
/// of kDataAlignment.
std::string padding(uint64_t data_begin) {
  constexpr uint64_t kPaddingField = 0xd935, kFieldHeader = 4, kSmallest = kFieldHeader + 2;
  uint64_t size = (ArchiveWriter::kDataAlignment - data_begin % ArchiveWriter::kDataAlignment) %
                  ArchiveWriter::kDataAlignment;
  if (size == 0) return "";
  if (size < kSmallest) size += ArchiveWriter::kDataAlignment;
  std::string out;
  put(out, kPaddingField, 2);
  put(out, size - kFieldHeader, 2);
  put(out, ArchiveWriter::kDataAlignment, 2);
  out.resize(size, '\0');
  return out;
}

bool needs_64(uint64_t value) { return value >= UINT32_MAX; }
uint64_t or_all_bits(bool is_64, uint64_t value) { return is_64 ? UINT32_MAX : value; }

}  // namespace

/// The header in front of a member, or its record in the directory.
std::string ArchiveWriter::header(const Entry& entry, bool central) const {
  const bool is_64 = needs_64(entry.size) || (central && needs_64(entry.begin));
  std::string extra;
  if (is_64) {
    put(extra, kZip64Field, 2);
    put(extra, central ? 24 : 16, 2);
    put(extra, entry.size, 8);
    put(extra, entry.size, 8);
    if (central) put(extra, entry.begin, 8);
  }
  constexpr uint64_t kLocalSize = 30;
  if (!central) extra += padding(entry.begin + kLocalSize + entry.name.size() + extra.size());
  std::string out;
  put(out, central ? 0x02014b50 : 0x04034b50, 4);
  if (central) put(out, kVersion64, 2);
  put(out, is_64 ? kVersion64 : kVersion, 2);
  put(out, kUtf8, 2);
  put(out, 0, 2);  // stored
  put(out, kFirstDay, 4);
  put(out, entry.crc, 4);
  put(out, or_all_bits(is_64, entry.size), 4);
  put(out, or_all_bits(is_64, entry.size), 4);
  put(out, entry.name.size(), 2);
  put(out, extra.size(), 2);
  if (central) {
    put(out, 0, 6);  // comment, disk, attributes
    put(out, 0, 4);
    put(out, or_all_bits(is_64, entry.begin), 4);
  }
  return out + entry.name + extra;
}

void ArchiveWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  position_ += bytes.size();
}

void ArchiveWriter::add(const std::string& name, const std::function<void(const Sink&)>& pieces) {
  if (const std::string_view defect = name_defect(name); !defect.empty())
    throw InvalidArgumentError("cannot write the member " + detail::in_quotes(name) + ": " +
                               std::string(defect));
  if (!names_.insert(name).second)
    throw InvalidArgumentError("cannot write the member " + detail::in_quotes(name) + " twice");
  Entry entry{name, position_, 0, 0};
  pieces([&](std::span<const std::byte> bytes) { entry.size += bytes.size(); });
  std::string head = header(entry, false);
  write(std::as_bytes(std::span(head)));
  // The checksum is taken while a piece is in the cache; it stands before the data.
  constexpr size_t kCached = size_t{256} << 10;
  pieces([&](std::span<const std::byte> bytes) {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(kCached, bytes.size()))) {
      const auto piece = bytes.first(std::min(kCached, bytes.size()));
      entry.crc = crc32(entry.crc, piece);
      write(piece);
    }
  });
  head = header(entry, false);
  file_.rewrite(entry.begin, std::as_bytes(std::span(head)));
  entries_.push_back(std::move(entry));
}

void ArchiveWriter::add(const std::string& name, std::span<const std::byte> bytes) {
  add(name, [bytes](const Sink& sink) { sink(bytes); });
}

void ArchiveWriter::add(const std::string& name, const std::string& text) {
  add(name, std::as_bytes(std::span(text)));
}

void ArchiveWriter::commit() {
  const uint64_t begin = position_;
  std::string out;
  for (const Entry& entry : entries_) out += header(entry, true);
  const uint64_t size = out.size(), count = entries_.size();
  const bool is_64 = needs_64(begin) || count >= UINT16_MAX;
  if (is_64) {
    put(out, 0x06064b50, 4);
    put(out, 44, 8);
    put(out, kVersion64, 2);
    put(out, kVersion64, 2);
    put(out, 0, 8);
    for (uint64_t value : {count, count, size, begin}) put(out, value, 8);
    put(out, 0x07064b50, 4);
    put(out, 0, 4);
    put(out, begin + size, 8);
    put(out, 1, 4);
  }
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, is_64 ? UINT16_MAX : count, 2);
  put(out, is_64 ? UINT16_MAX : count, 2);
  put(out, size, 4);
  put(out, or_all_bits(is_64, begin), 4);
  put(out, 0, 2);
  write(std::as_bytes(std::span(out)));
  file_.commit();
}

}  // namespace nyala::zip

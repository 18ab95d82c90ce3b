// APPNOTE 6.3.10: the end record (section 4.3.16) is looked for from the end of the file, zip64's (4.3.14)
// before it, then the central directory (4.3.12) is read and each member's local header compared with it. One
// reading only: archives that two readers would take for different ones (bytes around it, members that
// overlap, two of a name) are refused. Content is unpacked in pieces to exactly the size that was said.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <zlib.h>

#include <nyala/backend/core/error.h>
#include <nyala/files/base/crc32.h>
#include <nyala/files/zip/archive.h>

namespace nyala::zip {

namespace {

constexpr uint32_t kLocalSignature = 0x04034b50, kCentralSignature = 0x02014b50, kEndSignature = 0x06054b50,
                   kEnd64Signature = 0x06064b50, kLocator64Signature = 0x07064b50;
constexpr uint64_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;
constexpr uint16_t kEncrypted = 1, kZip64Field = 1;

/// Checked little-endian reads of an archive.
class Reader {
 public:
  Reader(const StoredBytes& bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  uint64_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes(uint64_t begin, uint64_t count) const {
    if (begin > size() || count > size() - begin)
      fail(begin, std::to_string(count) + " bytes lie beyond the end of the file");
    return bytes_.bytes(begin, count);
  }
  uint64_t number(uint64_t at, int bytes_wide) const {
    const auto raw = bytes(at, static_cast<uint64_t>(bytes_wide));
    uint64_t value = 0;
    for (size_t i = raw.size(); i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(raw[i]);
    return value;
  }
  uint16_t u16(uint64_t at) const { return static_cast<uint16_t>(number(at, 2)); }
  uint32_t u32(uint64_t at) const { return static_cast<uint32_t>(number(at, 4)); }
  uint64_t u64(uint64_t at) const { return number(at, 8); }
  std::string text(uint64_t at, uint64_t count) const {
    const auto raw = bytes(at, count);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  [[noreturn]] void fail(uint64_t at, const std::string& reason) const {
    throw FileFormatError(name_ + ": not a sound ZIP archive, byte " + std::to_string(at) + ": " + reason);
  }
  [[noreturn]] void fail_member(const std::string& member, const std::string& reason) const {
    throw FileFormatError(name_ + ": member " + detail::in_quotes(member) + ": " + reason);
  }

 private:
  const StoredBytes& bytes_;
  const std::string& name_;
};

struct Directory {
  uint64_t begin = 0, size = 0, count = 0, end = 0;
};

/// The record at the end, which a comment of up to 64 KiB may follow.
uint64_t find_end(const Reader& in) {
  if (in.size() < kEndSize) in.fail(0, "the file is too short");
  const uint64_t last = in.size() - kEndSize, first = last > 0xffff ? last - 0xffff : 0;
  for (uint64_t at = last;; --at) {
    if (in.u32(at) == kEndSignature && in.u16(at + 20) == in.size() - at - kEndSize) return at;
    if (at == first) in.fail(in.size(), "there is no directory at the end; the file may be cut short");
  }
}

Directory find_directory(const Reader& in) {
  const uint64_t end = find_end(in);
  if (in.u16(end + 4) != 0 || in.u16(end + 6) != 0 || in.u16(end + 8) != in.u16(end + 10))
    in.fail(end, "archives in several parts are not read");
  Directory d{in.u32(end + 16), in.u32(end + 12), in.u16(end + 10), end};
  const bool is_64 = d.begin == UINT32_MAX || d.size == UINT32_MAX || d.count == UINT16_MAX;
  if (is_64 && end >= kLocator64Size && in.u32(end - kLocator64Size) == kLocator64Signature) {
    const uint64_t record = in.u64(end - kLocator64Size + 8);
    if (in.u32(record) != kEnd64Signature || in.u64(record + 4) + 12 != kEnd64Size ||
        record + kEnd64Size + kLocator64Size != end)
      in.fail(record, "expected the zip64 end record");
    if (in.u32(record + 16) != 0 || in.u32(record + 20) != 0 || in.u64(record + 24) != in.u64(record + 32))
      in.fail(record, "archives in several parts are not read");
    const Directory narrow = std::exchange(
        d, {in.u64(record + 48), in.u64(record + 40), in.u64(record + 32), record});
    if ((narrow.begin != UINT32_MAX && narrow.begin != d.begin) ||
        (narrow.size != UINT32_MAX && narrow.size != d.size) ||
        (narrow.count != UINT16_MAX && narrow.count != d.count))
      in.fail(record, "the end record and that of zip64 say different things");
  }
  if (d.size > d.end || d.begin != d.end - d.size)
    in.fail(end,
            "the directory does not stand where the end record says, or other bytes surround the archive");
  if (d.count > Archive::kMaxMembers)
    in.fail(end, std::to_string(d.count) + " members are more than the " +
                     std::to_string(Archive::kMaxMembers) + " that are read");
  if (d.count * kCentralSize > d.size)
    in.fail(end, "a directory of " + std::to_string(d.count) + " members does not fit");
  return d;
}

/// Sizes and place of a member that is too large for 32 bits stand in an extra field.
void read_zip64(const Reader& in, uint64_t at, uint64_t length, Member& member) {
  const bool needed = member.size == UINT32_MAX || member.stored == UINT32_MAX || member.begin == UINT32_MAX;
  const uint64_t end = at + length;
  while (needed && at + 4 <= end) {
    const uint64_t field = at + 4, size = in.u16(at + 2);
    if (field + size > end) in.fail(at, "an extra field is longer than its record");
    at = field + size;
    if (in.u16(field - 4) != kZip64Field) continue;
    uint64_t next = field;
    for (uint64_t* value : {&member.size, &member.stored, &member.begin}) {
      if (*value != UINT32_MAX) continue;
      if (next + 8 > at) in.fail(field, "a zip64 field is too short");
      *value = in.u64(next);
      next += 8;
    }
    return;
  }
}

void check_name(const Reader& in, const std::string& name) {
  if (const std::string_view defect = name_defect(name); !defect.empty())
    in.fail_member(name, std::string(defect));
}

/// From the local header, which must be there and say the same name, to the data.
void find_data(const Reader& in, const Directory& directory, Member& member) {
  const uint64_t at = member.begin;
  if (at > directory.begin || in.u32(at) != kLocalSignature)
    in.fail_member(member.name, "there is no header at byte " + std::to_string(at));
  const uint64_t name_size = in.u16(at + 26);
  if (in.text(at + kLocalSize, name_size) != member.name)
    in.fail_member(member.name, "its header at byte " + std::to_string(at) + " has another name");
  member.begin = at + kLocalSize + name_size + in.u16(at + 28);
  if (member.begin > directory.begin || member.stored > directory.begin - member.begin)
    in.fail_member(member.name, "its data reach into the directory");
}

void check_size(const Reader& in, const Member& member) {
  if (!member.deflated && member.size != member.stored)
    in.fail_member(member.name, "it is stored as it is, but with two different sizes");
  if (member.size > Archive::kSmall && member.size / Archive::kMaxRatio > member.stored)
    in.fail_member(member.name, "it claims to unpack from " + std::to_string(member.stored) + " to " +
                                    std::to_string(member.size) + " bytes");
}

/// Reads the directory's record at `at` and moves `at` behind it.
Member read_member(const Reader& in, const Directory& directory, uint64_t& at) {
  if (in.u32(at) != kCentralSignature) in.fail(at, "expected a member of the directory");
  const uint64_t name_size = in.u16(at + 28), extra_size = in.u16(at + 30), comment_size = in.u16(at + 32);
  Member member{in.text(at + kCentralSize, name_size), in.u32(at + 42), in.u32(at + 20), in.u32(at + 24),
                in.u32(at + 16)};
  check_name(in, member.name);
  if (in.u16(at + 8) & kEncrypted) in.fail_member(member.name, "it is encrypted");
  const uint16_t method = in.u16(at + 10);
  if (method != 0 && method != Z_DEFLATED)
    in.fail_member(member.name,
                   "packed by method " + std::to_string(method) + "; stored and deflate are read");
  member.deflated = method == Z_DEFLATED;
  read_zip64(in, at + kCentralSize + name_size, extra_size, member);
  find_data(in, directory, member);
  check_size(in, member);
  at += kCentralSize + name_size + extra_size + comment_size;
  return member;
}

void check_distinct(const Reader& in, std::vector<Member> members) {
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.name < b.name; });
  for (size_t i = 1; i < members.size(); ++i)
    if (members[i].name == members[i - 1].name) in.fail_member(members[i].name, "it is there twice");
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < members.size(); ++i)
    if (members[i].begin < members[i - 1].begin + members[i - 1].stored)
      in.fail_member(members[i].name,
                     "its bytes are also those of " + detail::in_quotes(members[i - 1].name));
}

constexpr size_t kPiece = size_t{128} << 10;  // that are read at a time

uint32_t checksum(const StoredBytes& bytes) {
  uint32_t crc = 0;
  bytes.for_each_piece(kPiece, [&](std::span<const std::byte> piece) { crc = crc32(crc, piece); });
  return crc;
}

/// Unpacks a member's bytes, which come in pieces, to where it belongs.
class Inflater {
 public:
  explicit Inflater(std::span<std::byte> out) : out_(out), code_(inflateInit2(&stream_, -MAX_WBITS)) {}
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void take(std::span<const std::byte> packed) {
    const auto chunk = [](size_t left) { return static_cast<uInt>(std::min<size_t>(left, size_t{1} << 30)); };
    while (code_ == Z_OK) {
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
      stream_.avail_in = chunk(packed.size());
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data() + written_);
      stream_.avail_out = chunk(out_.size() - written_);
      const uInt in_before = stream_.avail_in, out_before = stream_.avail_out;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      packed = packed.subspan(in_before - stream_.avail_in);
      written_ += out_before - stream_.avail_out;
      if (code == Z_BUF_ERROR) break;  // it needs more bytes, or more room
      code_ = code;
    }
    has_left_over_ = has_left_over_ || !packed.empty();
  }
  /// Whether exactly `out` came of exactly what take() got.
  bool is_exact() const { return code_ == Z_STREAM_END && !has_left_over_ && is_full(); }
  bool is_full() const { return written_ == out_.size(); }
  size_t written() const { return written_; }

 private:
  z_stream stream_{};
  std::span<std::byte> out_;
  int code_;
  size_t written_ = 0;
  bool has_left_over_ = false;
};

}  // namespace

bool Archive::looks_like(const StoredBytes& bytes) {
  const char* signature = "PK\x03\x04";
  return bytes.size() >= 4 && std::memcmp(bytes.bytes(0, 4).data(), signature, 4) == 0;
}

std::string_view name_defect(std::string_view name) {
  const bool rooted = name.empty() || name.front() == '/' || (name.size() > 1 && name[1] == ':');
  if (rooted || name.find('\\') != std::string_view::npos || name.find('\0') != std::string_view::npos)
    return "the name is not a path inside the archive";
  if (name.size() > UINT16_MAX) return "the name is longer than 65535 bytes";
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..") return "the name leads out of the archive";
    begin = end + 1;
  }
  return {};
}

Archive::Archive(StoredBytes bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {
  const Reader in(bytes_, name_);
  const Directory directory = find_directory(in);
  uint64_t at = directory.begin;
  for (uint64_t i = 0; i < directory.count; ++i) members_.push_back(read_member(in, directory, at));
  if (at != directory.begin + directory.size) in.fail(at, "the directory has another size than it says");
  check_distinct(in, members_);
  by_name_.resize(members_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](uint32_t a, uint32_t b) { return members_[a].name < members_[b].name; });
}

const Member* Archive::find(std::string_view name) const {
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [&](uint32_t i, std::string_view n) { return members_[i].name < n; });
  return found == by_name_.end() || members_[*found].name != name ? nullptr : &members_[*found];
}

const Member& Archive::member(std::string_view name) const {
  if (const Member* const found = find(name)) return *found;
  throw NotFoundError(name_ + ": the archive has no member " + detail::in_quotes(name));
}

bool Archive::has(std::string_view name) const { return find(name) != nullptr; }

Content Archive::read(std::string_view name) const {
  const Member& member = this->member(name);
  const Reader in(bytes_, name_);
  Content content{bytes_.part(member.begin, member.stored), member.stored};
  if (member.deflated) {
    // Not set to zero: pages that a false size asks for are never touched.
    const std::shared_ptr<std::byte[]> unpacked(new std::byte[member.size]);
    Inflater inflater({unpacked.get(), member.size});
    content.bytes.for_each_piece(kPiece, [&](std::span<const std::byte> piece) { inflater.take(piece); });
    if (!inflater.is_exact()) in.fail_member(member.name, "its packed data are damaged");
    content.bytes = StoredBytes({unpacked.get(), member.size}, unpacked);
  }
  if (checksum(content.bytes) != member.crc) in.fail_member(member.name, "its checksum is wrong");
  return content;
}

/// Sums up each piece while it is in the cache.
void Archive::read_to(std::string_view name, uint64_t begin, std::span<std::byte> out) const {
  const Member& member = this->member(name);
  detail::check_internal(begin <= member.size && out.size() == member.size - begin,
                         "a member was asked for another number of bytes than it has");
  if (member.deflated) return read(name).bytes.read(begin, out);
  const StoredBytes bytes = bytes_.part(member.begin, member.size);
  uint32_t crc = checksum(bytes.part(0, begin));
  for (size_t at = 0; at < out.size(); at += kPiece) {
    const auto piece = out.subspan(at, std::min(kPiece, out.size() - at));
    bytes.read(begin + at, piece);
    crc = crc32(crc, piece);
  }
  if (crc != member.crc) Reader(bytes_, name_).fail_member(member.name, "its checksum is wrong");
}

StoredBytes Archive::beginning(std::string_view name, uint64_t count) const {
  const Member& member = this->member(name);
  const uint64_t wanted = std::min(count, member.size);
  if (!member.deflated) return bytes_.part(member.begin, wanted);
  const std::shared_ptr<std::byte[]> unpacked(new std::byte[wanted]);
  Inflater inflater({unpacked.get(), wanted});
  const StoredBytes packed = bytes_.part(member.begin, member.stored);
  std::vector<std::byte> buffer;
  for (uint64_t at = 0; at < packed.size() && !inflater.is_full(); at += kPiece)
    inflater.take(packed.bytes(at, std::min<uint64_t>(kPiece, packed.size() - at), buffer));
  return StoredBytes({unpacked.get(), inflater.written()}, unpacked);
}

}  // namespace nyala::zip

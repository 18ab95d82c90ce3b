#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/files/base/stored_bytes.h>

namespace nyala::zip {

/// One file inside an archive.
struct Member {
  std::string name;
  uint64_t begin = 0;   ///< first byte of its data in the archive
  uint64_t stored = 0;  ///< bytes it takes there
  uint64_t size = 0;    ///< bytes of its content
  uint32_t crc = 0;
  bool deflated = false;
};

/// The content of a member: where it lies in the archive, or unpacked in memory.
struct Content {
  StoredBytes bytes;
  uint64_t stored = 0;  ///< bytes it takes in the archive
};

/// What keeps `name` from being a member's; empty where nothing does.
std::string_view name_defect(std::string_view name);

/// Reads ZIP archives (APPNOTE 6.3, with zip64) strictly: whatever the bytes say, a fault gives a
/// FileFormatError naming file, member and reason, and nothing is ever written to the disk.
///
/// Refused: encryption, archives in parts, methods other than stored and deflate, bytes before or behind the
/// archive, two members of one name or over the same bytes, names that lead out of a folder ("../x", "/x",
/// "c:x"), more than kMaxMembers members, and content that is both large and more than kMaxRatio times what
/// is stored.
/// A handle; may be used by several threads at once.
class Archive {
 public:
  static constexpr size_t kMaxMembers = size_t{1} << 20;
  static constexpr uint64_t kMaxRatio = 100;
  /// Content up to this size may be packed more tightly.
  static constexpr uint64_t kSmall = uint64_t{12} << 20;

  /// True if the bytes begin as an archive does.
  static bool looks_like(const StoredBytes& bytes);
  /// Throws FileFormatError. `name` is how messages call the file.
  Archive(StoredBytes bytes, std::string name);
  Archive(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name)
      : Archive(StoredBytes(bytes, std::move(owner)), std::move(name)) {}
  explicit Archive(const std::shared_ptr<const FileBytes>& file) : Archive(StoredBytes(file), file->path()) {}

  const std::vector<Member>& members() const { return members_; }
  bool has(std::string_view name) const;
  /// Throws NotFoundError.
  const Member& member(std::string_view name) const;
  /// Content that is stored is not copied. Checks length and checksum. Throws NotFoundError, FileFormatError.
  Content read(std::string_view name) const;
  /// Copies the content from byte `begin` to its end, which is `out.size()` bytes long, to `out`, and checks length
  /// and checksum on the way: what is stored is read once. Throws as read(), FileFormatError where `out` has
  /// been written already.
  void read_to(std::string_view name, uint64_t begin, std::span<std::byte> out) const;
  /// The first `count` bytes of a member's content, all where there are fewer. Checks neither length nor
  /// checksum.
  StoredBytes beginning(std::string_view name, uint64_t count) const;

 private:
  const Member* find(std::string_view name) const;

  StoredBytes bytes_;
  std::string name_;
  std::vector<Member> members_;
  std::vector<uint32_t> by_name_;  // places in members_
};

}  // namespace nyala::zip

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/api/saving/file_bytes.h>

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

/// The content of a member. `owner` keeps `bytes` alive; `file` is set where they are bytes of the archive's
/// file.
struct Content {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::shared_ptr<const FileBytes> file = {};
  uint64_t stored = 0;  ///< bytes it takes in the archive
};

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
  static constexpr size_t kMaxMembers = 65536;
  static constexpr uint64_t kMaxRatio = 100;
  /// Content up to this size may be packed more tightly.
  static constexpr uint64_t kSmall = uint64_t{12} << 20;

  /// True if the bytes begin as an archive does.
  static bool looks_like(std::span<const std::byte> bytes);
  /// Throws FileFormatError. `owner` keeps `bytes` alive; `name` is how messages call the file.
  Archive(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name);
  explicit Archive(std::shared_ptr<const FileBytes> file);

  const std::vector<Member>& members() const { return members_; }
  bool has(std::string_view name) const;
  /// Content that is stored is not copied. Checks length and checksum. Throws NotFoundError, FileFormatError.
  Content read(std::string_view name) const;

 private:
  void read_directory();
  const Member* find(std::string_view name) const;

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const FileBytes> file_;  // null where the bytes are not a file's
  std::string name_;
  std::vector<Member> members_;
  std::vector<uint32_t> by_name_;  // places in members_
};

}  // namespace nyala::zip

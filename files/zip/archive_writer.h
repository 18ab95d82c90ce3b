#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include <nyala/files/base/atomic_file.h>

namespace nyala::zip {

/// Writes a ZIP archive of stored members (as Keras' are), in one pass: a member's bytes go from where they
/// lie to the disk, none are copied. The file appears under its path when commit() has ended. Equal members
/// give equal bytes: times are left at the format's first day. zip64 where sizes ask for it. Data begin at
/// multiples of kDataAlignment, so that a mapped archive can be read where it lies. Throws IoError, and
/// InvalidArgumentError for a name that Archive refuses: of two members, or one that is no path inside.
class ArchiveWriter {
 public:
  static constexpr uint64_t kDataAlignment = 64;

  explicit ArchiveWriter(const std::string& path) : file_(path) {}

  void add(const std::string& name, std::span<const std::byte> bytes);
  void add(const std::string& name, const std::string& text);
  /// A member that comes in pieces, in order; `pieces(sink)` is called twice (sizes, then bytes) and must
  /// give the same both times.
  using Sink = std::function<void(std::span<const std::byte>)>;
  void add(const std::string& name, const std::function<void(const Sink&)>& pieces);
  void commit();

 private:
  struct Entry {
    std::string name;
    uint64_t begin;
    uint64_t size;
    uint32_t crc;
  };
  void write(std::span<const std::byte> bytes);
  std::string header(const Entry& entry, bool central) const;

  AtomicFile file_;
  uint64_t position_ = 0;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
};

}  // namespace nyala::zip

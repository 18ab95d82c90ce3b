#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <zlib.h>

namespace nyala::zip {

/// A ZIP archive of deflated members, which ArchiveWriter does not write.
class DeflatedArchive {
 public:
  void add(const std::string& name, const std::string& text) {
    const auto* bytes = reinterpret_cast<const Bytef*>(text.data());
    const Entry entry{name, out_.size(), text.size(), ::crc32_z(0, bytes, text.size()), packed(text)};
    out_ += header(entry, false) + entry.packed;
    entries_.push_back(entry);
  }
  std::string bytes() const {
    std::string directory;
    for (const Entry& entry : entries_) directory += header(entry, true);
    std::string end;
    put(end, 0x06054b50, 4);
    put(end, 0, 4);
    put(end, entries_.size(), 2);
    put(end, entries_.size(), 2);
    put(end, directory.size(), 4);
    put(end, out_.size(), 4);
    put(end, 0, 2);
    return out_ + directory + end;
  }

 private:
  struct Entry {
    std::string name;
    uint64_t begin, size, crc;
    std::string packed;
  };

  static void put(std::string& out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  }
  static std::string header(const Entry& entry, bool central) {
    std::string out;
    put(out, central ? 0x02014b50 : 0x04034b50, 4);
    if (central) put(out, 20, 2);
    put(out, 20, 2);
    put(out, 0, 2);
    put(out, Z_DEFLATED, 2);
    put(out, 0, 4);
    put(out, entry.crc, 4);
    put(out, entry.packed.size(), 4);
    put(out, entry.size, 4);
    put(out, entry.name.size(), 2);
    put(out, 0, 2);
    if (central) {
      put(out, 0, 6);
      put(out, 0, 4);
      put(out, entry.begin, 4);
    }
    return out + entry.name;
  }
  static std::string packed(const std::string& text) {
    std::string out(compressBound(text.size()) + 64, '\0');
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }

  std::string out_;
  std::vector<Entry> entries_;
};

}  // namespace nyala::zip

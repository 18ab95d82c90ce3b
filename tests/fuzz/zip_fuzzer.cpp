// The reader of ZIP archives: whatever the bytes, members are read or a FileFormatError is thrown.
#include <cstdint>

#include <nyala/backend/core/error.h>
#include <nyala/files/zip/archive.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const nyala::zip::Archive archive(bytes, nullptr, "input");
    for (const nyala::zip::Member& member : archive.members()) {
      try {
        archive.read(member.name);
      } catch (const nyala::FileFormatError&) {
      }
    }
  } catch (const nyala::FileFormatError&) {
  }
  return 0;
}

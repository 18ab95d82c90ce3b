#pragma once

#include <cstdint>
#include <string>

namespace nyala::hdf5 {

/// Where a fault has no byte to point at.
inline constexpr uint64_t kNoOffset = UINT64_MAX;

/// What a parser throws on bytes that are not as the format says. Parsers know the byte and the reason;
/// at_object() adds the file's name and the object's path and turns it into a FileFormatError.
/// Never leaves this folder.
struct Fault {
  uint64_t offset = kNoOffset;
  std::string reason;
};

}  // namespace nyala::hdf5

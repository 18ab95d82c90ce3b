#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <nyala/files/base/crc32c.h>

namespace nyala::hdf5 {

/// The attribute of a root group with the CRC-32C over all names of its file, where Nyala wrote it. Others
/// pass it over.
inline constexpr const char* kNamesChecksum = "nyala_names_crc32c";

/// The checksum with one more object; they come in the order of their full paths, "/" first.
inline uint32_t with_name(uint32_t crc, std::string_view path, bool is_group) {
  const std::byte kind{is_group ? uint8_t{1} : uint8_t{2}};
  crc = crc32c(crc, std::as_bytes(std::span(path)));
  return crc32c(crc, std::span(&kind, 1));
}

}  // namespace nyala::hdf5

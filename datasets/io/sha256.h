#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace nyala::datasets {

/// SHA-256 (FIPS 180-4) of bytes that arrive in pieces.
class Sha256 {
 public:
  void update(std::span<const uint8_t> bytes);

  /// The digest as 64 lower-case hexadecimal digits. The object must not be used afterwards.
  std::string finish();

 private:
  void compress(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                    0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  std::array<uint8_t, 64> pending_{};
  uint64_t total_ = 0;
};

/// The digest of a whole file. Throws IoError naming the file when it cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace nyala::datasets

#pragma once

#include <filesystem>
#include <string>

namespace nyala::datasets {

/// The digest of a whole file as 32 or 64 lower-case hexadecimal digits. Throw IoError naming the file when
/// it cannot be read.
std::string md5_of_file(const std::filesystem::path& path);
std::string sha256_of_file(const std::filesystem::path& path);

/// The file's digest by the algorithm of `expected`, which its length tells: 32 digits MD5, 64 digits
/// SHA-256; empty for an empty one. Throws InvalidArgumentError for another length.
std::string digest_like(const std::string& expected, const std::filesystem::path& path);

}  // namespace nyala::datasets

#include <nyala/datasets/io/file_digest.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/io/md5.h>
#include <nyala/datasets/io/sha256.h>
#include <nyala/files/base/file_errors.h>

namespace nyala::datasets {

namespace {

template <class Hash>
std::string digest_of(const std::filesystem::path& path) {
  (void)checked_path(path.string());
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw_file_error(path.string() + ": cannot open the file", errno);
  Hash hash;
  std::vector<uint8_t> buffer(size_t{1} << 18);
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    hash.update({buffer.data(), count});
  if (std::ferror(file.get())) throw_file_error(path.string() + ": cannot read the file", errno);
  return hash.finish();
}

}  // namespace

std::string md5_of_file(const std::filesystem::path& path) { return digest_of<Md5>(path); }
std::string sha256_of_file(const std::filesystem::path& path) { return digest_of<Sha256>(path); }

std::string digest_like(const std::string& expected, const std::filesystem::path& path) {
  switch (expected.size()) {
    case 0:
      return {};
    case 32:
      return md5_of_file(path);
    case 64:
      return sha256_of_file(path);
  }
  throw InvalidArgumentError(
      path.string() + ": expected a digest of 32 or 64 hexadecimal digits, received '" + expected + "'");
}

}  // namespace nyala::datasets

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace nyala::datasets {

/// Called now and then with the bytes that are there and the bytes there will be (0 while unknown).
/// An exception that it throws stops the download and reaches the caller; the part stays for a resume.
using FetchProgress = std::function<void(uint64_t done, uint64_t total)>;

struct FetchRequest {
  std::string url = {};             // http, https or file
  std::filesystem::path path = {};  // the finished file; its folder is made if it is missing
  std::string sha256 = {};          // 64 hexadecimal digits of the whole file, as its publisher gives them
  std::string md5 = {};             // 32 of them, where the publisher gives no SHA-256
  bool unverified = false;          // the publisher gives neither
  FetchProgress progress = {};
};

/// Downloads to `path`.part beside the target, goes on where an earlier part ended, checks the digest
/// and renames: `path` is only ever absent or whole. Two processes that fetch the same file take turns.
/// Returns at once when `path` exists. Throws IoError naming URL and file when the network or the disk
/// fails, FileFormatError (expected and found digest) when the bytes are others than published.
void fetch(const FetchRequest& request);

}  // namespace nyala::datasets

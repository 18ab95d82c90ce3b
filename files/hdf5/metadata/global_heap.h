#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <nyala/files/hdf5/base/cursor.h>
#include <nyala/files/hdf5/base/limits.h>

namespace nyala::hdf5 {

/// Reads variable-length strings from global heap collections. One object of this class serves one dataset or
/// attribute: all its strings together, and all their collections, are held to the size of the file.
/// Throws Fault.
class GlobalHeap {
 public:
  explicit GlobalHeap(const Image& image) : image_(&image), strings_(image), collections_(image) {}

  /// The string that `element` (length, collection, index) refers to, up to its first NUL.
  std::string read_string(Cursor& element);

 private:
  struct Range {
    uint64_t begin;
    uint64_t size;
  };
  using Collection = std::map<uint64_t, Range>;

  const Collection& collection(uint64_t address);

  const Image* image_;
  WalkBudget strings_;
  WalkBudget collections_;
  std::map<uint64_t, Collection> known_;
};

}  // namespace nyala::hdf5

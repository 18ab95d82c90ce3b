#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <nyala/files/hdf5/base/cursor.h>
#include <nyala/files/hdf5/base/limits.h>

namespace nyala::hdf5 {

/// A fractal heap: where new-style groups keep links and objects keep many attributes. Checksums of the
/// header, indirect blocks and (where the heap has them) direct blocks are verified. Throws Fault.
class FractalHeap {
 public:
  FractalHeap(const Image& image, uint64_t address);

  /// Bytes of a heap ID.
  uint64_t id_size() const { return id_size_; }
  /// The object with this ID: managed, huge or tiny. All objects together are held to the file's size.
  Cursor object(Cursor id);

 private:
  struct Range {
    uint64_t address;
    uint64_t length;
  };
  struct Block {
    uint64_t address;
    uint64_t size;    ///< of a direct block
    uint64_t offset;  ///< of its first byte in the heap's space
  };

  Cursor managed(Cursor id);
  Cursor huge(Cursor id);
  Cursor tiny(Cursor id) const;
  void read_huge_objects();
  Block find_direct(uint64_t offset) const;
  Block child_of(const Block& parent, uint64_t rows, uint64_t offset, bool& is_direct) const;
  /// The direct block with this byte of the heap's space, verified.
  Block direct_block(uint64_t offset);
  void verify(const Block& block);
  uint64_t row_size(uint64_t row) const { return row == 0 ? start_size_ : start_size_ << (row - 1); }
  void check_table(const Cursor& header) const;

  const Image* image_;
  uint64_t address_;
  WalkBudget object_budget_;
  WalkBudget block_budget_;
  std::map<uint64_t, Block> direct_;  ///< found and verified, by the offset of the first byte
  std::optional<std::map<uint64_t, Range>> huge_objects_;  ///< by ID, read when first needed
  uint64_t id_size_ = 0;
  bool has_block_checksums_ = false;
  uint64_t max_managed_ = 0;
  uint64_t huge_tree_ = 0;
  uint64_t width_ = 0;
  uint64_t start_size_ = 0;
  uint64_t max_direct_ = 0;
  uint64_t max_bits_ = 0;
  uint64_t root_ = 0;
  uint64_t root_rows_ = 0;
};

}  // namespace nyala::hdf5

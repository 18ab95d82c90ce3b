#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <nyala/backend/core/storage.h>
#include <nyala/backend/runtime/memory_source.h>

namespace nyala {

/// Large blocks cut out of long stretches of memory that costs nothing before it is touched. Free neighbours
/// become one block, so that what many activations of one size leave behind serves gradients of another: a
/// process takes little more than its largest set of live blocks. A request gets the smallest free block that
/// holds it, the one at the lowest address among equals, hence a loop that repeats itself finds the same
/// places. Not thread-safe.
class BlockArena {
 public:
  /// Sizes are multiples of this.
  static constexpr size_t kUnit = size_t{64} << 10;

  struct Block;
  /// The storage of a block, which lies in the block.
  struct BlockStorage : Storage {
    BlockStorage(Block* block, Device device, StorageOwner* owner);
    Block* block;
  };

  /// `source` outlives this and grows_on_touch().
  BlockArena(MemorySource& source, Device device, StorageOwner* owner);
  ~BlockArena();

  /// A storage of `bytes` rounded up to kUnit, or null where the source or the C heap has no memory left.
  Storage* allocate(size_t bytes);
  /// Allocates nothing.
  void release(BlockStorage* storage) noexcept;
  /// Gives the memory of all free blocks back to the system. Allocates nothing.
  void release_free() noexcept;

  /// The bytes of the largest blocks in use, at most `count`.
  std::vector<size_t> largest(size_t count) const;

  /// Bytes of free blocks that have been touched.
  size_t free_bytes() const { return free_bytes_; }
  /// How often memory was handed out that is not known to have been touched.
  uint64_t fresh_blocks() const { return fresh_blocks_; }

 private:
  struct Segment {
    char* data;
    size_t bytes, used;  // what lies behind `used` was never handed out
    Block* last = nullptr;
  };
  static constexpr size_t kBins = 64 * 4;

  static size_t bin_of(size_t bytes);
  Block* take_free(size_t bytes);
  Block* take_fresh(size_t bytes);
  bool has_spare();
  Block* new_block(Segment* segment, char* data, size_t bytes);
  void delete_block(Block* block);
  void put(Block* block);
  void remove(Block* block);
  void cut(Block* block, size_t bytes);
  void join_next(Block* block);
  Segment* add_segment(size_t bytes);

  MemorySource& source_;
  Device device_;
  StorageOwner* owner_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::array<Block*, kBins> bins_{};  // free blocks, linked
  Block* spare_ = nullptr;  // linked as free ones are
  size_t reserved_ = 0, free_bytes_ = 0;
  uint64_t fresh_blocks_ = 0;
};

}  // namespace nyala

// Best fit with free neighbours joined (Knuth, The Art of Computer Programming 1, 2.5) in bins of sizes, four
// per power of two, as Lea's malloc has them. A segment of 64 MiB to 1 GiB is reserved at once; what was
// never handed out has cost no page yet, so that a free block is taken first and the untouched rest last. A
// request looks through the first bin that may hold it and takes the smallest block there. Nothing is
// allocated on release: descriptions of blocks that were joined wait in a list of spare ones.
#include <nyala/backend/runtime/block_arena.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <new>

namespace nyala {

namespace {

constexpr size_t kSmallestSegment = size_t{64} << 20, kLargestSegment = size_t{1} << 30;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

/// A piece of a segment, linked to its neighbours in memory and, while it is free, to others in its bin.
struct BlockArena::Block {
  Segment* segment;
  char* data;
  size_t bytes;
  Block *before = nullptr, *behind = nullptr;
  Block *previous_free = nullptr, *next_free = nullptr;
  bool is_free = false;
  bool touched = true;  // false: its memory was given back
  std::optional<BlockStorage> storage;
};

BlockArena::BlockStorage::BlockStorage(Block* own, Device device, StorageOwner* owner)
    : Storage(own->data, own->bytes, device, owner), block(own) {}

BlockArena::BlockArena(MemorySource& source, Device device, StorageOwner* owner)
    : source_(source), device_(device), owner_(owner) {}

BlockArena::~BlockArena() {
  for (const auto& segment : segments_) {
    for (Block* block = segment->last; block;) delete std::exchange(block, block->before);
    source_.release(segment->data, segment->bytes);
  }
  while (spare_) delete std::exchange(spare_, spare_->next_free);
}

// Four bins per power of two; blocks of later bins hold whatever belongs into earlier ones.
size_t BlockArena::bin_of(size_t bytes) {
  const size_t exponent = static_cast<size_t>(std::bit_width(bytes)) - 1;
  return exponent * 4 + ((bytes >> (exponent - 2)) & 3);
}

Storage* BlockArena::allocate(size_t bytes) {
  if (!has_spare()) return nullptr;
  bytes = round_up(bytes, kUnit);
  Block* block = take_free(bytes);
  if (!block) block = take_fresh(bytes);
  if (!block) return nullptr;
  block->is_free = false;
  block->touched = true;
  return &block->storage.emplace(block, device_, owner_);
}

BlockArena::Block* BlockArena::take_free(size_t bytes) {
  for (size_t bin = bin_of(bytes); bin < kBins; ++bin) {
    Block* best = nullptr;
    for (Block* block = bins_[bin]; block; block = block->next_free) {
      if (block->bytes < bytes) continue;
      if (!best || block->bytes < best->bytes || (block->bytes == best->bytes && block->data < best->data))
        best = block;
    }
    if (!best) continue;
    if (!best->touched) ++fresh_blocks_;
    remove(best);
    cut(best, bytes);
    return best;
  }
  return nullptr;
}

/// From behind what a segment has handed out so far, together with the last block where that is free.
BlockArena::Block* BlockArena::take_fresh(size_t bytes) {
  Segment* segment = nullptr;
  for (const auto& candidate : segments_) {
    const size_t reusable = candidate->last && candidate->last->is_free ? candidate->last->bytes : 0;
    if (candidate->used - reusable + bytes <= candidate->bytes) segment = candidate.get();
  }
  if (!segment) segment = add_segment(bytes);
  if (!segment) return nullptr;
  ++fresh_blocks_;
  Block* block = segment->last;
  if (block && block->is_free) {
    remove(block);
    segment->used += bytes - block->bytes;
    block->bytes = bytes;
    return block;
  }
  block = new_block(segment, segment->data + segment->used, bytes);
  block->before = segment->last;
  if (segment->last) segment->last->behind = block;
  segment->last = block;
  segment->used += bytes;
  return block;
}

BlockArena::Segment* BlockArena::add_segment(size_t bytes) try {
  auto segment = std::make_unique<Segment>();
  segments_.reserve(segments_.size() + 1);
  const size_t wished = std::max(bytes, std::clamp(reserved_, kSmallestSegment, kLargestSegment));
  for (const size_t size : {wished, bytes})
    if (void* data = source_.allocate(size)) {
      reserved_ += size;
      *segment = {static_cast<char*>(data), size, 0};
      return segments_.emplace_back(std::move(segment)).get();
    }
  return nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void BlockArena::release(BlockStorage* storage) noexcept {
  Block* block = storage->block;
  block->storage.reset();
  if (block->behind && block->behind->is_free) {
    remove(block->behind);
    join_next(block);
  }
  if (block->before && block->before->is_free) {
    block = block->before;
    remove(block);
    join_next(block);
  }
  put(block);
}

void BlockArena::join_next(Block* block) {
  Block* next = block->behind;
  block->bytes += next->bytes;
  block->touched = block->touched || next->touched;
  block->behind = next->behind;
  if (next->behind)
    next->behind->before = block;
  else
    block->segment->last = block;
  delete_block(next);
}

void BlockArena::cut(Block* block, size_t bytes) {
  if (block->bytes == bytes) return;
  Block* rest = new_block(block->segment, block->data + bytes, block->bytes - bytes);
  rest->touched = block->touched;
  rest->before = block;
  rest->behind = block->behind;
  if (block->behind)
    block->behind->before = rest;
  else
    block->segment->last = rest;
  block->behind = rest;
  block->bytes = bytes;
  put(rest);
}

/// Whether there is the one block that a request needs, made before anything is changed.
bool BlockArena::has_spare() {
  if (!spare_) spare_ = new (std::nothrow) Block{};
  return spare_ != nullptr;
}

BlockArena::Block* BlockArena::new_block(Segment* segment, char* data, size_t bytes) {
  Block* const block = std::exchange(spare_, spare_->next_free);
  block->next_free = nullptr;
  block->segment = segment;
  block->data = data;
  block->bytes = bytes;
  block->before = block->behind = nullptr;
  block->touched = true;
  return block;
}

void BlockArena::delete_block(Block* block) { block->next_free = std::exchange(spare_, block); }

void BlockArena::put(Block* block) {
  block->is_free = true;
  if (block->touched) free_bytes_ += block->bytes;
  Block*& first = bins_[bin_of(block->bytes)];
  block->previous_free = nullptr;
  block->next_free = first;
  if (first) first->previous_free = block;
  first = block;
}

void BlockArena::remove(Block* block) {
  block->is_free = false;
  if (block->touched) free_bytes_ -= block->bytes;
  if (block->next_free) block->next_free->previous_free = block->previous_free;
  if (block->previous_free)
    block->previous_free->next_free = block->next_free;
  else
    bins_[bin_of(block->bytes)] = block->next_free;
}

std::vector<size_t> BlockArena::largest(size_t count) const {
  std::vector<size_t> sizes;
  for (const auto& segment : segments_)
    for (const Block* block = segment->last; block; block = block->before) {
      if (block->is_free) continue;
      sizes.insert(std::upper_bound(sizes.begin(), sizes.end(), block->bytes, std::greater<>()),
                   block->bytes);
      if (sizes.size() > count) sizes.pop_back();
    }
  return sizes;
}

void BlockArena::release_free() noexcept {
  std::erase_if(segments_, [this](const std::unique_ptr<Segment>& segment) {
    const bool unused = !segment->last || (segment->last->is_free && !segment->last->before);
    if (!unused) {
      for (Block* block = segment->last; block; block = block->before) {
        if (!block->is_free || !block->touched) continue;
        source_.discard(block->data, block->bytes);
        free_bytes_ -= block->bytes;
        block->touched = false;
      }
      return false;
    }
    if (segment->last) {
      remove(segment->last);
      delete_block(segment->last);
    }
    reserved_ -= segment->bytes;
    source_.release(segment->data, segment->bytes);
    return true;
  });
}

}  // namespace nyala

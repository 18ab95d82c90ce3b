#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include <nyala/backend/runtime/block_arena.h>
#include <nyala/backend/runtime/host_memory.h>

namespace nyala {
namespace {

constexpr size_t kMega = size_t{1} << 20;

/// Host memory that counts what it gives, up to a limit.
class CountedMemory final : public MemorySource {
 public:
  void* allocate(size_t bytes) override {
    if (held + bytes > limit) return nullptr;
    held += bytes;
    return host_.allocate(bytes);
  }
  void release(void* data, size_t bytes) noexcept override {
    held -= bytes;
    host_.release(data, bytes);
  }
  bool grows_on_touch() const override { return true; }
  void discard(void* data, size_t bytes) noexcept override {
    discarded += bytes;
    host_.discard(data, bytes);
  }
  size_t held = 0, discarded = 0, limit = size_t{8} << 30;

 private:
  HostMemory host_;
};

class NoOwner final : public StorageOwner {
  void reclaim(Storage*) noexcept override {}
};

class BlockArenaTest : public ::testing::Test {
 protected:
  Storage* take(size_t bytes) { return arena_.allocate(bytes); }
  void give(Storage* storage) { arena_.release(static_cast<BlockArena::BlockStorage*>(storage)); }

  CountedMemory memory_;
  NoOwner owner_;
  BlockArena arena_{memory_, Device{}, &owner_};
};

TEST_F(BlockArenaTest, NeighboursBecomeOneBlock) {
  Storage *a = take(3 * kMega), *b = take(5 * kMega), *c = take(2 * kMega), *end = take(kMega);
  void* const first = a->data();
  EXPECT_EQ(arena_.fresh_blocks(), 4u);
  give(a);
  give(c);
  EXPECT_EQ(arena_.free_bytes(), 5 * kMega);
  give(b);
  Storage* whole = take(10 * kMega);
  EXPECT_EQ(whole->data(), first);
  EXPECT_EQ(whole->bytes(), 10 * kMega);
  EXPECT_EQ(arena_.fresh_blocks(), 4u);
  EXPECT_EQ(arena_.free_bytes(), 0u);
  give(whole);
  give(end);
}

TEST_F(BlockArenaTest, TheSmallestThatFitsIsTaken) {
  Storage* big = take(8 * kMega);
  Storage* wall = take(kMega);
  Storage* small = take(2 * kMega);
  Storage* end = take(kMega);
  void *const big_place = big->data(), *const small_place = small->data();
  give(big);
  give(small);
  Storage* fits = take(2 * kMega - 100);
  EXPECT_EQ(fits->data(), small_place);
  Storage* cut = take(6 * kMega);
  EXPECT_EQ(cut->data(), big_place);
  EXPECT_EQ(arena_.free_bytes(), 2 * kMega);
  EXPECT_EQ(arena_.fresh_blocks(), 4u);
  for (Storage* storage : {wall, end, fits, cut}) give(storage);
}

TEST_F(BlockArenaTest, TheLastBlockGrows) {
  Storage* a = take(kMega);
  Storage* b = take(2 * kMega);
  void* const place = b->data();
  give(b);
  b = take(7 * kMega);
  EXPECT_EQ(b->data(), place);
  EXPECT_EQ(arena_.free_bytes(), 0u);
  give(a);
  give(b);
}

TEST_F(BlockArenaTest, VersionsNeverRepeat) {
  Storage* a = take(2 * kMega);
  const uint64_t version = a->version();
  give(a);
  Storage* b = take(2 * kMega);
  EXPECT_EQ(b, a);
  EXPECT_GT(b->version(), version);
  give(b);
}

TEST_F(BlockArenaTest, GivesMemoryBack) {
  std::vector<Storage*> held;
  for (int i = 0; i < 40; ++i) held.push_back(take(4 * kMega));
  for (size_t i = 0; i < held.size(); ++i)
    if (i % 2 == 1) give(held[i]);
  EXPECT_EQ(arena_.free_bytes(), 20 * 4 * kMega);
  arena_.release_free();
  EXPECT_EQ(arena_.free_bytes(), 0u);
  EXPECT_EQ(memory_.discarded, 20 * 4 * kMega);
  const uint64_t fresh = arena_.fresh_blocks();
  for (size_t i = 0; i < held.size(); ++i)
    if (i % 2 == 1) held[i] = take(4 * kMega);
  EXPECT_EQ(arena_.fresh_blocks(), fresh + 20);
  for (Storage* storage : held) give(storage);
  arena_.release_free();
  EXPECT_EQ(memory_.held, 0u);
}

TEST_F(BlockArenaTest, WithoutMemoryNull) {
  memory_.limit = 70 * kMega;
  Storage* a = take(60 * kMega);
  ASSERT_TRUE(a);
  EXPECT_FALSE(take(60 * kMega));
  Storage* b = take(4 * kMega);
  ASSERT_TRUE(b);
  EXPECT_FALSE(take(8 * kMega));
  give(a);
  give(b);
}

/// What threads of random sizes and lives write stays theirs.
TEST_F(BlockArenaTest, BlocksNeverOverlap) {
  uint64_t state = 7;
  const auto next = [&state](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  std::map<Storage*, char> live;
  size_t live_bytes = 0;
  for (int round = 0; round < 4000; ++round) {
    if (live.size() < 40 && next(2) == 0) {
      const size_t bytes = kMega + next(5 * kMega);
      Storage* storage = take(bytes);
      ASSERT_GE(storage->bytes(), bytes);
      ASSERT_LT(storage->bytes(), bytes + BlockArena::kUnit);
      const char mark = static_cast<char>(round);
      for (size_t at = 0; at < storage->bytes(); at += 4096) static_cast<char*>(storage->data())[at] = mark;
      live_bytes += storage->bytes();
      ASSERT_TRUE(live.emplace(storage, mark).second);
    } else if (!live.empty()) {
      auto it = live.begin();
      std::advance(it, static_cast<long>(next(live.size())));
      for (size_t at = 0; at < it->first->bytes(); at += 4096)
        ASSERT_EQ(static_cast<char*>(it->first->data())[at], it->second);
      live_bytes -= it->first->bytes();
      give(it->first);
      live.erase(it);
    }
    if (round == 2000) arena_.release_free();
  }
  EXPECT_LT(live_bytes + arena_.free_bytes(), 300 * kMega);
  for (const auto& [storage, mark] : live) give(storage);
}

/// A step that makes activations and lets go of them in reverse order takes no new memory, whatever sizes the
/// gradients have.
TEST_F(BlockArenaTest, ARepeatedStepTakesNothing) {
  size_t live = 0, most = 0;
  const auto step = [&] {
    std::vector<Storage*> kept;
    const auto hold = [&](size_t bytes) {
      Storage* storage = take(bytes);
      live += storage->bytes();
      most = std::max(most, live);
      return storage;
    };
    const auto let_go = [&](Storage* storage) {
      live -= storage->bytes();
      give(storage);
    };
    for (int i = 0; i < 30; ++i) kept.push_back(hold((3 + static_cast<size_t>(i % 5)) * kMega));
    Storage* gradient = hold(2 * kMega);
    while (!kept.empty()) {
      Storage* next = hold(kept.back()->bytes() + kMega);
      let_go(gradient);
      let_go(kept.back());
      kept.pop_back();
      gradient = next;
    }
    let_go(gradient);
  };
  for (int i = 0; i < 3; ++i) step();
  const uint64_t fresh = arena_.fresh_blocks();
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(arena_.fresh_blocks(), fresh);
  EXPECT_LT(arena_.free_bytes(), most + most / 10);
}

}  // namespace
}  // namespace nyala

// What happens where memory runs out, as far as it can be said without taking it away: tests/attack does
// that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include <nyala/backend/core/out_of_memory.h>
#include <nyala/backend/core/per_thread.h>
#include <nyala/backend/runtime/caching_allocator.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/host_memory.h>
#include <nyala/backend/runtime/memory_report.h>
#include <nyala/backend/runtime/parallel.h>
#include <nyala/backend/runtime/proven_room.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::out_of_memory_test {

namespace {

using ::testing::HasSubstr;

constexpr size_t kMega = size_t{1} << 20;

/// Host memory up to a limit.
class LittleMemory final : public MemorySource {
 public:
  explicit LittleMemory(size_t limit) : left_(limit) {}
  void* allocate(size_t bytes) override {
    if (bytes > left_) return nullptr;
    left_ -= bytes;
    return host_.allocate(bytes);
  }
  void release(void* data, size_t bytes) noexcept override {
    left_ += bytes;
    host_.release(data, bytes);
  }
  bool grows_on_touch() const override { return true; }
  void discard(void* data, size_t bytes) noexcept override { host_.discard(data, bytes); }

 private:
  size_t left_;
  HostMemory host_;
};

TEST(OutOfMemory, TheErrorNamesWhatIsWantedInUseAndCachedAndTheLargestTensors) {
  CachingAllocator allocator(Device{}, std::make_unique<LittleMemory>(100 * kMega));
  const StorageRef a = allocator.allocate(20 * kMega), b = allocator.allocate(20 * kMega),
                   c = allocator.allocate(8 * kMega);
  (void)allocator.allocate(4 * kMega);  // and back
  const std::string text = error_text<OutOfMemoryError>([&] { allocator.allocate(200 * kMega); });
  EXPECT_THAT(text, HasSubstr("no memory left on cpu:0 for a tensor of 200.0 MiB (209715200 bytes)"));
  EXPECT_THAT(text, HasSubstr("48.0 MiB are in use by tensors (the largest: 2 of 20.0 MiB, 8.0 MiB)"));
  EXPECT_THAT(text, HasSubstr("4.0 MiB are cached"));
  EXPECT_EQ(allocator.stats().live_bytes, 48 * kMega);
  EXPECT_GE(allocator.allocate(kMega)->bytes(), kMega);
}

TEST(OutOfMemory, CachedBlocksAreGivenBackAndItIsTriedAgain) {
  CachingAllocator allocator(Device{}, std::make_unique<LittleMemory>(80 * kMega));
  { const StorageRef a = allocator.allocate(60 * kMega); }
  std::vector<StorageRef> small;
  for (int i = 0; i < 10; ++i) small.push_back(allocator.allocate(kMega));
  small.clear();
  EXPECT_GE(allocator.allocate(78 * kMega)->bytes(), 78 * kMega);
}

TEST(OutOfMemory, SmallOnesAreCountedByTheirClass) {
  CachingAllocator allocator(Device{}, std::make_unique<LittleMemory>(kMega));
  const StorageRef a = allocator.allocate(1000), b = allocator.allocate(64);
  { const StorageRef freed = allocator.allocate(5000); }
  EXPECT_EQ(allocator.largest(), (std::vector<size_t>{1024, 64}));
}

TEST(OutOfMemory, WhereThereIsNoMemoryForATextTheErrorHasOneThatWasThereBefore) {
  EXPECT_THAT(error_text<OutOfMemoryError>(
                  [] { throw_out_of_memory([]() -> std::string { throw std::bad_alloc(); }); }),
              HasSubstr("no memory left"));
}

TEST(OutOfMemory, BadAllocSaysWhereItWasAndOthersGoOn) {
  EXPECT_THAT(error_text<OutOfMemoryError>([] { with_memory_errors("fit", [] { throw std::bad_alloc(); }); }),
              HasSubstr("fit: no memory left on the host; "));
  EXPECT_THROW(with_memory_errors("fit", [] { throw std::out_of_range("one"); }), std::out_of_range);
  EXPECT_EQ(with_memory_errors("fit", [] { return 3; }), 3);
}

TEST(OutOfMemory, RoomIsProvenOrRefused) {
  { const ProvenRoom room(kMega, "a test"); }
  const std::string text =
      error_text<OutOfMemoryError>([] { const ProvenRoom room(size_t{1} << 62, "a test"); });
  EXPECT_THAT(text, HasSubstr("no room for a test"));
  const ProvenRoom again(kMega, "a test");  // nothing stayed locked
}

TEST(OutOfMemory, BytesAreReadable) {
  EXPECT_EQ(readable_bytes(0), "0 bytes");
  EXPECT_EQ(readable_bytes(1023), "1023 bytes");
  EXPECT_EQ(readable_bytes(1536), "1.5 KiB");
  EXPECT_EQ(readable_bytes(size_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(readable_bytes(size_t{5000} << 30), "5000.0 GiB");
}

TEST(OutOfMemory, WhatAPieceThrowsComesOutOfTheTeam) {
  std::atomic<int> ended{0};
  EXPECT_THROW(parallel_for(8, 1,
                            [&](int64_t piece, int64_t) {
                              if (piece == 5) throw std::bad_alloc();
                              ++ended;
                            }),
               std::bad_alloc);
  EXPECT_EQ(ended, 7);
}

TEST(OutOfMemory, AThreadsOwnValueEndsWithIt) {
  struct Counted {
    ~Counted() { ++destroyed(); }
    static std::atomic<int>& destroyed() {
      static std::atomic<int> count{0};
      return count;
    }
    int value = 0;
  };
  static PerThread<Counted> own;
  EXPECT_EQ(own.find(), nullptr);
  own.get().value = 7;
  std::thread([] { EXPECT_EQ(own.get().value++, 0); }).join();
  EXPECT_EQ(own.get().value, 7);
  EXPECT_EQ(Counted::destroyed(), 1);
}

}  // namespace

}  // namespace nyala::out_of_memory_test

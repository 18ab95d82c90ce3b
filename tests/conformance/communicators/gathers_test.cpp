#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/conformance/communicators/ranks.h>

namespace nyala::testing {
namespace {

std::byte byte_of(int rank, int64_t i) {
  return static_cast<std::byte>((i * 31 + rank * 101 + i / 251) % 256);
}

std::vector<std::byte> bytes_of(int rank, int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) bytes[static_cast<size_t>(i)] = byte_of(rank, i);
  return bytes;
}

void expect_gathered(std::span<const std::byte> all, std::span<const int64_t> sizes) {
  size_t at = 0;
  for (size_t rank = 0; rank < sizes.size(); ++rank)
    for (int64_t i = 0; i < sizes[rank]; ++i)
      ASSERT_EQ(all[at++], byte_of(static_cast<int>(rank), i)) << "byte " << i << " of rank " << rank;
}

TEST_P(Communicators, AllGather) {
  for (const int size : {1, 2, 3, 4}) {
    on(size, [&](Communicator& all) {
      for (const int64_t count : {0, 1, 17, 5000, 262'144, 300'001}) {
        const std::vector<std::byte> mine = bytes_of(all.rank(), count);
        std::vector<std::byte> gathered(static_cast<size_t>(count * size));
        all.all_gather(mine, gathered);
        expect_gathered(gathered, std::vector<int64_t>(static_cast<size_t>(size), count));
      }
    });
  }
}

TEST_P(Communicators, AllGatherInPlace) {
  on(3, [&](Communicator& all) {
    const int64_t count = 300'001;
    std::vector<std::byte> gathered(static_cast<size_t>(3 * count));
    const auto mine =
        std::span(gathered).subspan(static_cast<size_t>(all.rank() * count), static_cast<size_t>(count));
    std::ranges::copy(bytes_of(all.rank(), count), mine.begin());
    all.all_gather(mine, gathered);
    expect_gathered(gathered, std::vector<int64_t>(3, count));
  });
}

TEST_P(Communicators, UnevenAllGather) {
  const std::vector<std::vector<int64_t>> cases = {
      {0}, {5}, {0, 0}, {1, 0}, {0, 700'000}, {3, 5, 0}, {300'000, 0, 7}, {1, 2, 3, 4}, {0, 0, 0, 500'000}};
  for (const auto& sizes : cases) {
    on(static_cast<int>(sizes.size()), [&](Communicator& all) {
      const std::vector<std::byte> mine = bytes_of(all.rank(), sizes[static_cast<size_t>(all.rank())]);
      std::vector<std::byte> gathered(
          static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), int64_t{0})));
      all.all_gather_v(mine, sizes, gathered);
      expect_gathered(gathered, sizes);
    });
  }
}

TEST_P(Communicators, Broadcast) {
  for (const int size : {1, 2, 3, 4}) {
    on(size, [&](Communicator& all) {
      for (int root = 0; root < size; ++root)
        for (const int64_t count : {0, 1, 5000, 700'001}) {
          std::vector<std::byte> data = bytes_of(all.rank(), count);
          all.broadcast(data, root);
          EXPECT_EQ(data, bytes_of(root, count));
        }
    });
  }
}

/// Nobody is through before all have come.
TEST_P(Communicators, Barrier) {
  std::atomic<int> come{0};
  on(4, [&](Communicator& all) {
    for (int round = 1; round <= 20; ++round) {
      come.fetch_add(1);
      all.barrier();
      EXPECT_GE(come.load(), 4 * round);
      all.barrier();
    }
  });
}

}  // namespace
}  // namespace nyala::testing

#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <nyala/backend/runtime/host_memory.h>

namespace nyala::host_memory_test {
namespace {

constexpr size_t kMiB = size_t{1} << 20, kBlocks = 12;

size_t address_space() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

/// Blocks with something small of the C heap behind each; the blocks are released.
void take_and_release(HostMemory& memory, size_t bytes, std::vector<std::unique_ptr<char[]>>& kept) {
  std::vector<void*> blocks;
  for (size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(memory.allocate(bytes));
    kept.push_back(std::make_unique<char[]>(5000));
  }
  for (void* const block : blocks) memory.release(block, bytes);
}

// The C library takes blocks from its heap once larger ones have been freed.
TEST(HostMemory, LargeBlocksLeaveNoGapsInTheHeap) {
  HostMemory memory;
  std::vector<std::unique_ptr<char[]>> kept;
  take_and_release(memory, 16 * kMiB, kept);
  const size_t before = address_space();
  take_and_release(memory, 8 * kMiB, kept);
  EXPECT_LT(address_space(), before + 8 * kMiB);
}

TEST(HostMemory, BlocksAreAlignedAndWhole) {
  HostMemory memory;
  for (const size_t bytes : {size_t{1}, size_t{100}, kMiB, 2 * kMiB, 2 * kMiB + 1, 5 * kMiB - 1}) {
    auto* const data = static_cast<char*>(memory.allocate(bytes));
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % (bytes >= 2 * kMiB ? 2 * kMiB : 64), 0u) << bytes;
    data[0] = data[bytes - 1] = 1;
    memory.release(data, bytes);
  }
}

}  // namespace
}  // namespace nyala::host_memory_test

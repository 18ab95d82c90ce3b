#include <nyala/backend/runtime/memory_report.h>

#include <algorithm>
#include <array>
#include <functional>

#include <nyala/backend/core/out_of_memory.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

std::string readable_bytes(size_t bytes) {
  constexpr std::array<const char*, 3> kUnits{"KiB", "MiB", "GiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  const auto tenths = static_cast<long long>(size * 10 + 0.5);  // not by printf: its comma is the locale's
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + kUnits[unit];
}

std::string memory_text(const AllocatorStats& stats, const std::vector<size_t>& largest) {
  std::string text = readable_bytes(stats.live_bytes) + " are in use by tensors";
  for (size_t i = 0; i < largest.size();) {
    const auto same = static_cast<size_t>(std::count(largest.begin(), largest.end(), largest[i]));
    text += i == 0 ? " (the largest: " : ", ";
    if (same > 1) text += std::to_string(same) + " of ";
    text += readable_bytes(largest[i]);
    i += same;
  }
  if (!largest.empty()) text += ")";
  return text + ", " + readable_bytes(stats.cached_bytes) + " are cached";
}

std::string host_memory_in_use() {
  AllocatorStats sum;
  std::vector<size_t> largest;
  for_each_host_allocator([&](const CachingAllocator& allocator) {
    const AllocatorStats stats = allocator.stats();
    sum.live_bytes += stats.live_bytes;
    sum.cached_bytes += stats.cached_bytes;
    for (const size_t bytes : allocator.largest()) largest.push_back(bytes);
  });
  std::sort(largest.begin(), largest.end(), std::greater<>());
  largest.resize(std::min(largest.size(), CachingAllocator::kReported));
  return memory_text(sum, largest);
}

void throw_for_bad_alloc(const char* where) {
  throw_out_of_memory([where] {
    return std::string(where) + ": " + error_place() + "no memory left on the host; " + host_memory_in_use() +
           " (a smaller batch or model needs less)";
  });
}

}  // namespace nyala

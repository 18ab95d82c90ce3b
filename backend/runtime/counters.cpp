#include <nyala/backend/runtime/counters.h>

#include <atomic>

namespace nyala {

namespace {

std::atomic<uint64_t> g_host_reads{0};
std::atomic<uint64_t> g_host_waits{0};

}  // namespace

RuntimeCounters runtime_counters() {
  return {g_host_reads.load(std::memory_order_relaxed), g_host_waits.load(std::memory_order_relaxed)};
}

void count_host_read() { g_host_reads.fetch_add(1, std::memory_order_relaxed); }

void count_host_wait() { g_host_waits.fetch_add(1, std::memory_order_relaxed); }

}  // namespace nyala

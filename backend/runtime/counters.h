#pragma once

#include <cstdint>

namespace nyala {

/// Counts of this process since it began, for tests and profiles: a warm training step leaves them as they
/// are.
struct RuntimeCounters {
  uint64_t host_reads = 0;  // copies of tensor values to the host
  uint64_t host_waits = 0;  // times a thread of the host waited for work queued on a device
};

RuntimeCounters runtime_counters();

/// For the code that does it.
void count_host_read();
void count_host_wait();

}  // namespace nyala

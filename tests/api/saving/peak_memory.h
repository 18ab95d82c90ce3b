#pragma once

#include <cstddef>
#include <fstream>
#include <functional>
#include <string>

#include <malloc.h>

namespace nyala {

/// "VmRSS" or "VmHWM" of this process, in bytes.
inline size_t memory_of_process(const std::string& what) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(what + ":")) return std::stoul(line.substr(what.size() + 1)) * 1024;
  return 0;
}

/// Bytes by which the resident memory of the process grows at most while `work` runs.
inline size_t peak_growth(const std::function<void()>& work) {
  ::malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const size_t before = memory_of_process("VmRSS");
  work();
  const size_t peak = memory_of_process("VmHWM");
  return peak > before ? peak - before : 0;
}

/// The sanitizers' own memory would be counted, too.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMeasuresMemory = false;
#else
inline constexpr bool kMeasuresMemory = true;
#endif

}  // namespace nyala

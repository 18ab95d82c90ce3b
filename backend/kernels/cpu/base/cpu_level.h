#pragma once

namespace nyala {

/// The widest vector instructions that this CPU and operating system offer, of those that kernels are
/// compiled for.
enum class CpuLevel { baseline, avx2, avx512 };

/// Found once, at run time.
CpuLevel cpu_level();

}  // namespace nyala

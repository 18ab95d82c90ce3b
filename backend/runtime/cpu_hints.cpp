#include <nyala/backend/runtime/cpu_hints.h>

namespace nyala {

#if defined(__x86_64__)

void spin_pause() { __builtin_ia32_pause(); }

void flush_denormals() {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | kFlushToZero | kDenormalsAreZero);
}

#else

void spin_pause() {}
void flush_denormals() {}

#endif

}  // namespace nyala

#include <nyala/backend/runtime/cpu_hints.h>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

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

void wake_politely() {
#ifdef __linux__
  const sched_param no_priority = {};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &no_priority);  // a hint: refused, nothing is lost
#endif
}

}  // namespace nyala

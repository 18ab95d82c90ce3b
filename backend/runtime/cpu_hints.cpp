#include <nyala/backend/runtime/cpu_hints.h>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace nyala {

#if defined(__x86_64__)

void spin_pause() { __builtin_ia32_pause(); }

#else

void spin_pause() {}

#endif

void wake_politely() {
#ifdef __linux__
  const sched_param no_priority = {};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &no_priority);  // a hint: refused, nothing is lost
#endif
}

}  // namespace nyala

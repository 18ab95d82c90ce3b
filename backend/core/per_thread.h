#pragma once

#include <pthread.h>

#include <memory>
#include <new>

namespace nyala {

/// One T for each thread that asks, destroyed with the thread. For types with a destructor: where glibc has
/// no memory to note that of a thread_local, it ends the process; here std::bad_alloc is thrown. Objects of
/// this class are static.
template <class T>
class PerThread {
 public:
  PerThread() {
    if (pthread_key_create(&key_, [](void* own) { delete static_cast<T*>(own); }) != 0)
      throw std::bad_alloc();
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  T& get() {
    if (void* const own = pthread_getspecific(key_)) return *static_cast<T*>(own);
    auto made = std::make_unique<T>();
    if (pthread_setspecific(key_, made.get()) != 0) throw std::bad_alloc();
    return *made.release();
  }

  /// Null where the thread has not asked yet.
  T* find() { return static_cast<T*>(pthread_getspecific(key_)); }

 private:
  pthread_key_t key_;
};

}  // namespace nyala

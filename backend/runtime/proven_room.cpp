// Whether memory is there is asked by mapping as much and giving it back at once: where the address space or
// the limit of commits is used up, that fails here, where it can be an error, and not in a library that does
// not look. The lock keeps our own allocations out between the question and the use.
#include <nyala/backend/runtime/proven_room.h>

#include <sys/mman.h>

#include <string>

#include <nyala/backend/core/out_of_memory.h>
#include <nyala/backend/runtime/memory_report.h>

namespace nyala {

bool has_room(size_t bytes) noexcept {
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return false;
  munmap(place, bytes);
  return true;
}

Mutex& host_growth() {
  // Never destroyed: it is asked for while static objects are.
  static Mutex* const mutex = new Mutex(Mutex::AtFork::is_waited);
  return *mutex;
}

ProvenRoom::ProvenRoom(size_t bytes, const char* what) : growth_(host_growth()) {
  if (has_room(bytes)) return;
  growth_.unlock();  // devices take it, too
  release_cached_host_memory();
  growth_.lock();
  if (has_room(bytes)) return;
  growth_.unlock();
  throw_out_of_memory([&] {
    return "no room for " + std::string(what) + ", which may need " + readable_bytes(bytes) + "; " +
           host_memory_in_use();
  });
}

}  // namespace nyala

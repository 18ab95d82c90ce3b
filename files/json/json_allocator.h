#pragma once

#include <cstddef>
#include <new>

namespace nyala {

/// What the values of basic_json lie in: as std::allocator.
template <class T>
struct JsonAllocator {
  using value_type = T;
  JsonAllocator() noexcept = default;
  template <class Other>
  JsonAllocator(const JsonAllocator<Other>&) noexcept {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T))); }
  void deallocate(T* values, size_t) noexcept { ::operator delete(values); }
  friend bool operator==(const JsonAllocator&, const JsonAllocator&) noexcept { return true; }
};

/// Where basic_json's destructor, which takes its values apart in a vector of its own, has that vector: a
/// kept reserve stands in where the heap has nothing left. Throws std::bad_alloc where that is too small as
/// well.
void* allocate_for_teardown(size_t bytes);
void give_back_after_teardown(void* data) noexcept;

}  // namespace nyala

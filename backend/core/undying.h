#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace nyala::detail {

/// An object that is never destroyed, since threads and static objects may ask for it to the very end:
/// `static Undying<T> one;`. It needs no memory that may not be there, so that functions may ask that may not
/// throw.
template <class T>
class Undying {
 public:
  template <class... Arguments>
  explicit Undying(Arguments&&... arguments)
      : object_(new (place_) T(std::forward<Arguments>(arguments)...)) {}
  Undying(const Undying&) = delete;
  Undying& operator=(const Undying&) = delete;

  T& operator*() const { return *object_; }

 private:
  alignas(T) std::byte place_[sizeof(T)];
  T* object_;
};

}  // namespace nyala::detail

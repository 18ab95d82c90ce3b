#pragma once

// Debian's libgloo-dev has gloo/transport/tcp/pair.h, but not the header of this name that it includes
// (NyalaGloo.cmake). These stand for its three classes: the names, members and meaning are those that the
// library was compiled with.
#include <memory>
#include <thread>
#include <utility>

namespace gloo {

template <class T>
class WeakNonOwningPtr;

/// What an object hands weak pointers to itself out by. Its end waits until nobody uses the object any more.
template <class T>
class ShareableNonOwningPtr final {
 public:
  explicit ShareableNonOwningPtr(T* object) : ptr_(object, [](void*) {}) {}
  ~ShareableNonOwningPtr() {
    const std::weak_ptr<T> users = std::exchange(ptr_, nullptr);
    while (!users.expired()) std::this_thread::yield();
  }
  ShareableNonOwningPtr(const ShareableNonOwningPtr&) = delete;
  ShareableNonOwningPtr& operator=(const ShareableNonOwningPtr&) = delete;

 protected:
  std::shared_ptr<T> ptr_;
  friend class WeakNonOwningPtr<T>;
};

/// The object while it is there; it stays as long as this does.
template <class T>
class NonOwningPtr final {
 public:
  NonOwningPtr() = default;
  explicit NonOwningPtr(const WeakNonOwningPtr<T>& weak) : ptr_(weak.ptr_.lock()) {}
  T* operator->() const noexcept { return ptr_.get(); }
  explicit operator bool() const noexcept { return ptr_ != nullptr; }

 private:
  std::shared_ptr<T> ptr_;
};

template <class T>
class WeakNonOwningPtr final {
 public:
  WeakNonOwningPtr() = default;
  explicit WeakNonOwningPtr(const ShareableNonOwningPtr<T>& object) : ptr_(object.ptr_) {}
  /// Whether it was ever an object's, also of one that is gone.
  explicit operator bool() const noexcept {
    const std::weak_ptr<T> none;
    return ptr_.owner_before(none) || none.owner_before(ptr_);
  }

 protected:
  std::weak_ptr<T> ptr_;
  friend class NonOwningPtr<T>;
};

}  // namespace gloo

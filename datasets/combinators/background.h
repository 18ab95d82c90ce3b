#pragma once

#include <exception>
#include <string>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/fork.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/datasets/base/dataset_node.h>

namespace nyala::combinators {

/// What one pull gave: an element, the end, or an exception to be thrown where the element is asked for.
struct Pulled {
  Element element = {};
  bool ended = false;
  std::exception_ptr thrown = {};

  /// The result of next(): moves the element out, or throws.
  bool deliver(Element& out) {
    if (thrown) std::rethrow_exception(thrown);
    if (ended) return false;
    std::swap(out, element);
    return true;
  }
};

/// Calls `pull` (bool(Element&)) and keeps what it throws.
template <class Pull>
void pull_into(Pulled& result, Pull&& pull) {
  try {
    result.ended = !pull(result.element);
  } catch (...) {
    result.ended = true;
    result.thrown = std::current_exception();
  }
}

/// The end of a stream whose thread had no memory for handing on what it pulled.
inline Pulled ended_by(std::exception_ptr error) { return {{}, true, std::move(error)}; }

/// Throws StateError where the threads of a traversal are in the parent of this process.
inline void check_not_forked(uint32_t made_in, const char* what) {
  if (made_in != forks())
    throw StateError(std::string(what) +
                     ": this traversal was begun before the process was forked, and its threads are in the "
                     "parent; begin another one here");
}

/// The part of the consumer's thread context that threads working for it take over. They run their ops on one
/// thread each, since all of them together share the cores with the consumer.
class BackgroundContext {
 public:
  BackgroundContext() : device_(nyala::detail::thread_context().device) {}
  void enter() const {
    nyala::detail::thread_context() = {};
    nyala::detail::thread_context().device = device_;
    nyala::detail::thread_context().compute_threads = 1;
  }

 private:
  Device device_;
};

}  // namespace nyala::combinators

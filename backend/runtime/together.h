#pragma once

#include <cstddef>
#include <functional>

namespace nyala {

/// Calls body(0) to body(count - 1), all at the same time: body(0) on the calling thread, every other one on
/// a thread of its own with the caller's context (device, tape, strategy ...). Returns when all have; then
/// the error of the lowest index is thrown, if there was one. The threads are kept for later calls; calls may
/// be nested and may come from several threads at once, each has its own threads.
void run_together(size_t count, const std::function<void(size_t)>& body);

}  // namespace nyala

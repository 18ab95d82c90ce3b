#pragma once

#include <algorithm>
#include <span>

#include <nyala/backend/core/tensor.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

/// Elements per piece of work on a CPU: pieces of all replicas stay in the cache between the sum and the
/// copies, and one piece costs far more than starting it.
inline constexpr int64_t kBufferPiece = 16384;

bool all_on_cpu(std::span<const Tensor> buffers);

/// A copy of `value` with bytes of its own.
Tensor copy_on(const Tensor& value, Device device);

/// target += source, equal shapes, any devices.
void add_into(const Tensor& target, const Tensor& source);

/// Calls body(first, count) for pieces of [0, count): on CPUs small ones, shared among the calling thread's
/// team; elsewhere one.
template <class Body>
void for_pieces(bool cpu, int64_t count, Body&& body) {
  if (!cpu) return body(int64_t{0}, count);
  parallel_for(count, kBufferPiece, [&](int64_t begin, int64_t end) { body(begin, end - begin); });
}

}  // namespace nyala

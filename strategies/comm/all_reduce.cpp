#include <nyala/strategies/comm/all_reduce.h>

#include <algorithm>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/dispatch.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

/// Pieces that stay in the second-level cache between the sum and the copies.
constexpr int64_t kPiece = 32768;

Tensor piece_of(const Tensor& flat, int64_t first, int64_t count) { return flat.rows(first, count); }

bool all_on_cpu(std::span<const Tensor> buffers) {
  return std::all_of(buffers.begin(), buffers.end(),
                     [](const Tensor& buffer) { return buffer.device().kind == DeviceKind::cpu; });
}

void add_into(const Tensor& sum, const Tensor& value, bool cpu) {
  const Tensor here = cpu ? value.alias_on(sum.device()) : value.to(sum.device());
  dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&here}, sum);
}

void reduce_piece(std::span<const Tensor> buffers, int64_t first, int64_t count, bool to_all, bool cpu) {
  const Tensor sum = piece_of(buffers[0], first, count);
  for (const Tensor& buffer : buffers.subspan(1)) add_into(sum, piece_of(buffer, first, count), cpu);
  if (!to_all) return;
  for (const Tensor& buffer : buffers.subspan(1)) {
    const Tensor target = piece_of(buffer, first, count);
    target.copy_from(cpu ? sum.alias_on(target.device()) : sum);
  }
}

}  // namespace

void all_reduce_sum(std::span<const Tensor> buffers, bool to_all) {
  if (buffers.size() < 2) return;
  const int64_t count = buffers[0].num_elements();
  for (const Tensor& buffer : buffers)
    if (buffer.shape() != Shape{count} || buffer.dtype() != buffers[0].dtype())
      throw ShapeError("all_reduce_sum: expected flat tensors of " + std::to_string(count) + " " +
                       std::string(name_of(buffers[0].dtype())) + ", received " + buffer.shape().to_string() +
                       " of " + std::string(name_of(buffer.dtype())));
  if (!all_on_cpu(buffers)) {
    reduce_piece(buffers, 0, count, to_all, false);
    return;
  }
  parallel_for(count, kPiece,
               [&](int64_t begin, int64_t end) { reduce_piece(buffers, begin, end - begin, to_all, true); });
}

}  // namespace nyala

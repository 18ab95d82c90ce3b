#include <nyala/strategies/comm/all_reduce.h>

#include <algorithm>

#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/dispatch.h>

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

}  // namespace

void all_reduce_sum(std::span<const Tensor> buffers, bool to_all) {
  if (buffers.size() < 2) return;
  const bool cpu = all_on_cpu(buffers);
  const int64_t count = buffers[0].num_elements(), step = cpu ? kPiece : std::max<int64_t>(count, 1);
  for (int64_t first = 0; first < count; first += step) {
    const int64_t length = std::min(step, count - first);
    const Tensor sum = piece_of(buffers[0], first, length);
    for (const Tensor& buffer : buffers.subspan(1)) add_into(sum, piece_of(buffer, first, length), cpu);
    if (!to_all) continue;
    for (const Tensor& buffer : buffers.subspan(1)) {
      const Tensor target = piece_of(buffer, first, length);
      target.copy_from(cpu ? sum.alias_on(target.device()) : sum);
    }
  }
}

}  // namespace nyala

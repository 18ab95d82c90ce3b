// With common memory nothing has to travel: each thread reads its slice of all buffers once, adds them in
// registers (ops::sum_buffers) and writes the sum where it is wanted.
#include <nyala/strategies/cross_device/direct_all_reduce.h>

#include <nyala/backend/ops/reduction/sum_buffers.h>
#include <nyala/strategies/cross_device/buffers.h>

namespace nyala {

namespace {

constexpr int64_t kSlice = 65536;

}  // namespace

void DirectAllReduce::sum_in_place(std::span<const Tensor> buffers, bool to_all) const {
  const int64_t elements = buffers[0].num_elements();
  if (all_on_cpu(buffers)) {
    parallel_for(elements, kSlice, [&](int64_t begin, int64_t end) {
      Tensors slices;
      for (const Tensor& buffer : buffers) slices.push_back(buffer.rows(begin, end - begin));
      ops::detail::sum_buffers(slices, to_all);
    });
    return;
  }
  for (const Tensor& buffer : buffers.subspan(1)) add_into(buffers[0], buffer);
  if (!to_all) return;
  for (const Tensor& buffer : buffers.subspan(1)) buffer.copy_from(buffers[0]);
}

}  // namespace nyala

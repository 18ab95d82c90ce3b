// A binomial tree for any N: strides 1, 2, 4 ... up, the same strides down. On CPUs the whole tree is run for
// one small piece after the other, so that sums stay in the cache.
#include <nyala/strategies/cross_device/hierarchical_copy_all_reduce.h>

#include <nyala/strategies/cross_device/buffers.h>
#include <nyala/strategies/cross_device/packing.h>

namespace nyala {

HierarchicalCopyAllReduce::HierarchicalCopyAllReduce(const Config& config) : config_(config) {
  check_num_packs(name(), config.num_packs);
}

std::vector<Tensors> HierarchicalCopyAllReduce::batch_reduce(ReduceOp op, const std::vector<Tensors>& values,
                                                             const std::vector<Device>& destinations) const {
  return packed_batch_reduce(*this, op, values, destinations, config_.num_packs);
}

void HierarchicalCopyAllReduce::sum_in_place(std::span<const Tensor> buffers, bool to_all) const {
  const size_t replicas = buffers.size();
  for_pieces(all_on_cpu(buffers), buffers[0].num_elements(), [&](int64_t first, int64_t count) {
    size_t stride = 1;
    for (; stride < replicas; stride *= 2)
      for (size_t low = 0; low + stride < replicas; low += 2 * stride)
        add_into(buffers[low].rows(first, count), buffers[low + stride].rows(first, count));
    if (!to_all) return;
    for (stride /= 2; stride > 0; stride /= 2)
      for (size_t low = 0; low + stride < replicas; low += 2 * stride)
        buffers[low + stride].rows(first, count).copy_from(buffers[low].rows(first, count));
  });
}

}  // namespace nyala

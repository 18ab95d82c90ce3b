// Patarasuk and Yuan 2009: values in N chunks, N - 1 rounds of adding and N - 1 of copying. A round is a loop
// over replicas here, since one thread reduces; on CPUs it is cut into pieces for the team, no two of which
// touch the same bytes.
#include <nyala/strategies/cross_device/ring_all_reduce.h>

#include <nyala/strategies/cross_device/buffers.h>

namespace nyala {

namespace {

/// One round: every replica hands one chunk to the next one.
class Ring {
 public:
  explicit Ring(std::span<const Tensor> buffers)
      : buffers_(buffers),
        replicas_(static_cast<int64_t>(buffers.size())),
        count_(buffers[0].num_elements()),
        cpu_(all_on_cpu(buffers)) {}

  int64_t replicas() const { return replicas_; }
  int64_t begin_of(int64_t chunk) const { return count_ * chunk / replicas_; }
  Tensor chunk(int64_t replica, int64_t chunk) const {
    return buffers_[static_cast<size_t>(replica)].rows(begin_of(chunk),
                                                       begin_of(chunk + 1) - begin_of(chunk));
  }

  /// Replica r hands chunk (r - lag) mod N to replica r + 1. No two of a round touch the same bytes.
  template <class Take>
  void round(int64_t lag, Take&& take) const {
    const int64_t largest = (count_ + replicas_ - 1) / replicas_;
    const int64_t pieces = cpu_ ? (largest + kBufferPiece - 1) / kBufferPiece : 1;
    const int64_t size = cpu_ ? kBufferPiece : largest;
    const auto hand_over = [&](int64_t work) {
      const int64_t replica = work / pieces, first = work % pieces * size;
      const int64_t id = ((replica - lag) % replicas_ + replicas_) % replicas_;
      const Tensor from = chunk(replica, id), to = chunk((replica + 1) % replicas_, id);
      const int64_t count = std::min(size, from.num_elements() - first);
      if (count > 0) take(to.rows(first, count), from.rows(first, count));
    };
    const int64_t total = replicas_ * pieces;
    if (cpu_ && count_ > kBufferPiece)
      parallel_for(total, 1, [&](int64_t work, int64_t) { hand_over(work); });
    else
      for (int64_t work = 0; work < total; ++work) hand_over(work);
  }

 private:
  std::span<const Tensor> buffers_;
  int64_t replicas_, count_;
  bool cpu_;
};

}  // namespace

void RingAllReduce::sum_in_place(std::span<const Tensor> buffers, bool to_all) const {
  const Ring ring(buffers);
  const int64_t n = ring.replicas();
  for (int64_t lag = 0; lag < n - 1; ++lag)
    ring.round(lag, [](const Tensor& to, const Tensor& from) { add_into(to, from); });
  // Now replica r has the whole sum of chunk (r + 1) mod N.
  if (to_all) {
    for (int64_t lag = -1; lag < n - 2; ++lag)
      ring.round(lag, [](const Tensor& to, const Tensor& from) { to.copy_from(from); });
    return;
  }
  for (int64_t replica = 1; replica < n; ++replica) {
    const int64_t chunk = (replica + 1) % n;
    if (ring.chunk(0, chunk).num_elements() > 0) ring.chunk(0, chunk).copy_from(ring.chunk(replica, chunk));
  }
}

}  // namespace nyala

// The sum of R buffers, into the first or into all. Pairwise additions would read and write the sum R - 1
// times; here it stays in a register, R being a template parameter up to 8. Added in the order of the
// buffers, 16-bit floats in float32.
#include <nyala/backend/ops/reduction/sum_buffers.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <nyala/backend/ops/base/dispatch.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

constexpr int64_t kBlock = 1024;  // elements whose sum stays in the first-level cache

void infer_sum_buffers(InferContext& c) {
  for (size_t i = 1; i < c.num_inputs(); ++i)
    if (c.shape(i) != c.shape(0) || c.dtype(i) != c.dtype(0))
      c.fail("expected tensors of one shape and dtype, received " + c.shape(0).to_string() + " and " +
             c.shape(i).to_string());
  c.output(0, c.shape(0), c.dtype(0));
}

/// With a known number of buffers the compiler keeps sums in registers: each element is read once and
/// written once. No loop over the buffers: where one is left the compiler does not vectorise the loop over
/// elements, which makes sums of 8 buffers 3 times slower.
template <class T, size_t... kBuffer>
void sum_these(T* const* buffers, int64_t count, bool to_all, std::index_sequence<kBuffer...>) {
  T* const at[] = {buffers[kBuffer]...};
  if (!to_all) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) at[0][i] = static_cast<T>((... + at[kBuffer][i]));
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const T sum = static_cast<T>((... + at[kBuffer][i]));
    ((at[kBuffer][i] = sum), ...);
  }
}

template <size_t N, class T>
void sum_known(T* const* buffers, int64_t count, bool to_all) {
  sum_these(buffers, count, to_all, std::make_index_sequence<N>());
}

template <class T>
void sum_any(const std::vector<T*>& buffers, int64_t count, bool to_all) {
  std::array<T, kBlock> sum;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t size = std::min(kBlock, count - first);
    std::copy_n(buffers[0] + first, size, sum.begin());
    for (size_t b = 1; b < buffers.size(); ++b)
      for (int64_t i = 0; i < size; ++i)
        sum[static_cast<size_t>(i)] = static_cast<T>(sum[static_cast<size_t>(i)] + buffers[b][first + i]);
    for (size_t b = 0; b < (to_all ? buffers.size() : 1); ++b)
      std::copy_n(sum.begin(), size, buffers[b] + first);
  }
}

template <class T>
void sum_half(const std::vector<T*>& buffers, int64_t count, bool to_all) {
  for (int64_t i = 0; i < count; ++i) {
    float sum = 0.0f;
    for (const T* buffer : buffers) sum += static_cast<float>(buffer[i]);
    for (size_t b = 0; b < (to_all ? buffers.size() : 1); ++b) buffers[b][i] = T(sum);
  }
}

template <class T>
void sum_halves(const KernelCall& call) {
  std::vector<T*> buffers{call.out<T>(0)};
  for (const Tensor* input : call.inputs) buffers.push_back(input->raw_as<T>());
  sum_half(buffers, call.output(0).num_elements(), call.descriptor<SumBuffersDescriptor>().to_all);
}

void sum_buffers_reference(const KernelCall& call) {
  const bool to_all = call.descriptor<SumBuffersDescriptor>().to_all;
  const int64_t count = call.output(0).num_elements();
  if (call.output(0).dtype() == DType::bfloat16) return sum_halves<bfloat16>(call);
  if (call.output(0).dtype() == DType::float16) return sum_halves<float16>(call);
  dispatch_arithmetic(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    std::vector<T*> buffers{call.out<T>(0)};
    for (const Tensor* input : call.inputs) buffers.push_back(input->raw_as<T>());
    switch (buffers.size()) {
      case 2:
        return sum_known<2>(buffers.data(), count, to_all);
      case 3:
        return sum_known<3>(buffers.data(), count, to_all);
      case 4:
        return sum_known<4>(buffers.data(), count, to_all);
      case 5:
        return sum_known<5>(buffers.data(), count, to_all);
      case 6:
        return sum_known<6>(buffers.data(), count, to_all);
      case 7:
        return sum_known<7>(buffers.data(), count, to_all);
      case 8:
        return sum_known<8>(buffers.data(), count, to_all);
      default:
        return sum_any(buffers, count, to_all);
    }
  });
}

}  // namespace

const OpDef kSumBuffers = {.name = "sum_buffers",
                           .infer = infer_sum_buffers,
                           .reference = sum_buffers_reference,
                           .takes_half = true};

void detail::sum_buffers(std::span<const Tensor> buffers, bool to_all) {
  Tensors here;
  for (const Tensor& buffer : buffers) here.push_back(buffer.alias_on(buffers[0].device()));
  std::vector<const Tensor*> others;
  for (size_t i = 1; i < here.size(); ++i) others.push_back(&here[i]);
  dispatch(kSumBuffers, SumBuffersDescriptor{to_all}, others, std::span(here.data(), 1));
}

}  // namespace nyala::ops

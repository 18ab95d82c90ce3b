// Per head and 128 queries: scores by a product of matrices, softmax over their rows in place, a product with
// the values. No tensor (time, steps) exists; kept for backward are the largest score and 1 / the sum of each
// row, from which it makes the probabilities again (Dao et al., FlashAttention, 2022). Unlike there keys are
// not cut, so that softmax needs no rescaling: scratch is 128 * steps floats per thread, twice that in
// backward. The blocks of one key head are one thread's, in their order, so that the gradients of keys and
// values are plain sums.
#include <algorithm>
#include <omp.h>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/dense/dot_product_attention.h>
#include <nyala/backend/kernels/cpu/normalization/softmax_loops.h>
#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/dot_product_attention.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using LoopsOf = const SoftmaxLoops& (*)();
using onednn::Matrix;

constexpr int64_t kBlock =
    128;  // queries: 128 x 128 scores are 64 KiB, half of a level 2 cache with their gradients
constexpr int64_t kLine = 16;  // floats

const char* unsupported_reason(const KernelCall& call) {
  return call.output(0).dtype() == DType::float32 ? nullptr : "float32 only";
}

int64_t scores_of(const ops::AttentionGeometry& g) {
  return (std::min(kBlock, g.time) * g.steps + kLine - 1) / kLine * kLine;
}

/// Scores of one block for each thread, `copies` times.
template <int64_t kCopies>
size_t workspace(const KernelCall& call) {
  return static_cast<size_t>(compute_threads() * kCopies * scores_of(ops::detail::attention_geometry(call))) *
         sizeof(float);
}

/// One key head of one row of the batch, and the queries of one of its heads.
struct Place {
  int64_t row, key_head, head;
};

/// The matrices of one place; `rows` of them lie `stride` apart.
class Operands {
 public:
  Operands(const KernelCall& call, const ops::AttentionGeometry& g) : call_(call), g_(g) {}

  template <class T>
  Matrix<T> queries(T* data, const Place& at, int64_t first, int64_t size) const {
    return {data + ((at.row * g_.time + first) * g_.heads + at.head) * size, g_.heads * size};
  }
  template <class T>
  Matrix<T> keys(T* data, const Place& at, int64_t size) const {
    return {data + (at.row * g_.steps * g_.key_heads + at.key_head) * size, g_.key_heads * size};
  }
  Matrix<const float> query(const Place& at, int64_t first) const {
    return queries(call_.in<float>(0), at, first, g_.size);
  }
  Matrix<const float> key(const Place& at) const { return keys(call_.in<float>(1), at, g_.size); }
  Matrix<const float> value(const Place& at) const { return keys(call_.in<float>(2), at, g_.value_size); }

 private:
  const KernelCall& call_;
  const ops::AttentionGeometry& g_;
};

void hide(const ops::HiddenScores& hidden, const Place& at, int64_t time, int64_t steps, float value,
          float* scores) {
  for (int64_t s = 0; s < steps; ++s)
    if (hidden.hides(at.row, at.head, time, s)) scores[s] = value;
}

/// Calls body(place, first query, count, scratch) for all blocks of one key head after another.
template <class Body>
void for_each_block(const KernelCall& call, const ops::AttentionGeometry& g, int64_t copies, Body&& body) {
  const int64_t per_thread = copies * scores_of(g);
  parallel_for(g.batch * g.key_heads, 1, [&](int64_t begin, int64_t end) {
    float* scratch = call.workspace.raw_as<float>() + omp_get_thread_num() * per_thread;
    for (int64_t i = begin; i < end; ++i)
      for (int64_t in_group = 0; in_group < g.group(); ++in_group)
        for (int64_t first = 0; first < g.time; first += kBlock) {
          const Place at{i / g.key_heads, i % g.key_heads, i % g.key_heads * g.group() + in_group};
          body(at, first, std::min(kBlock, g.time - first), scratch);
        }
  });
}

template <LoopsOf kLoops>
void forward(const KernelCall& call) {
  const ops::AttentionGeometry g = ops::detail::attention_geometry(call);
  const float scale = static_cast<float>(call.descriptor<ops::AttentionDescriptor>().scale);
  const ops::HiddenScores hidden(call, 3);
  const Operands in(call, g);
  onednn::prepare_multiply();
  for_each_block(call, g, 1, [&](const Place& at, int64_t first, int64_t count, float* p) {
    onednn::multiply({.rows = count, .inner = g.size, .columns = g.steps, .transpose_b = true}, scale,
                     {in.query(at, first), in.key(at), {p, g.steps}});
    float* kept = call.out<float>(1) + ((at.row * g.heads + at.head) * g.time + first) * 2;
    for (int64_t t = 0; t < count; ++t) {
      float* row = p + t * g.steps;
      if (hidden.any()) hide(hidden, at, first + t, g.steps, static_cast<float>(ops::kHiddenScore), row);
      const SoftmaxLoops::Total total = kLoops().total(row, g.steps);
      kept[2 * t] = total.largest;
      kept[2 * t + 1] = 1.0f / total.sum;
      kLoops().scaled_exp(row, g.steps, kept[2 * t], kept[2 * t + 1], row);
    }
    onednn::multiply({.rows = count, .inner = g.steps, .columns = g.value_size}, 1.0f,
                     {{p, g.steps}, in.value(at), in.queries(call.out<float>(0), at, first, g.value_size)});
  });
}

template <LoopsOf kLoops>
void backward(const KernelCall& call) {
  const ops::AttentionGeometry g = ops::detail::attention_geometry(call);
  const float scale = static_cast<float>(call.descriptor<ops::AttentionDescriptor>().scale);
  const ops::HiddenScores hidden(call, 5);
  const Operands in(call, g);
  onednn::prepare_multiply();
  for_each_block(call, g, 2, [&](const Place& at, int64_t first, int64_t count, float* p) {
    float* dp = p + scores_of(g);
    const bool adds = first > 0 || at.head % g.group() > 0;
    const Matrix<const float> dy = in.queries(call.in<float>(4), at, first, g.value_size);
    const Matrix<float> dk = in.keys(call.out<float>(1), at, g.size),
                        dv = in.keys(call.out<float>(2), at, g.value_size);
    onednn::multiply({.rows = count, .inner = g.size, .columns = g.steps, .transpose_b = true}, scale,
                     {in.query(at, first), in.key(at), {p, g.steps}});
    onednn::multiply({.rows = count, .inner = g.value_size, .columns = g.steps, .transpose_b = true}, 1.0f,
                     {dy, in.value(at), {dp, g.steps}});
    const float* kept = call.in<float>(3) + ((at.row * g.heads + at.head) * g.time + first) * 2;
    for (int64_t t = 0; t < count; ++t) {
      float *row = p + t * g.steps, *gradient = dp + t * g.steps;
      if (hidden.any()) hide(hidden, at, first + t, g.steps, static_cast<float>(ops::kHiddenScore), row);
      kLoops().scaled_exp(row, g.steps, kept[2 * t], kept[2 * t + 1], row);
      kLoops().softmax_backward(gradient, row, g.steps, gradient);
      if (hidden.any()) hide(hidden, at, first + t, g.steps, 0.0f, gradient);
    }
    onednn::multiply({.rows = g.steps, .inner = count, .columns = g.value_size, .transpose_a = true}, 1.0f,
                     {{p, g.steps}, dy, dv, adds});
    onednn::multiply({.rows = count, .inner = g.steps, .columns = g.size}, scale,
                     {{dp, g.steps}, in.key(at), in.queries(call.out<float>(0), at, first, g.size)});
    onednn::multiply({.rows = g.steps, .inner = count, .columns = g.size, .transpose_a = true}, scale,
                     {{dp, g.steps}, in.query(at, first), dk, adds});
  });
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  constexpr DeviceKind cpu = DeviceKind::cpu;
  table.add(ops::kDotProductAttention, cpu, {name, unsupported_reason, workspace<1>, forward<kLoops>});
  table.add(ops::kDotProductAttentionBackward, cpu,
            {name, unsupported_reason, workspace<2>, backward<kLoops>});
}

}  // namespace

void register_dot_product_attention(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<softmax_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<softmax_loops_avx2>(table, "avx2");
}

}  // namespace nyala

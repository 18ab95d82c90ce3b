// Per head and 128 queries: scores by a product of matrices, softmax over their rows in place, a product with
// the values. No tensor (time, steps) exists; kept for backward are the largest score and 1 / the sum of each
// row, from which it makes the probabilities again (Dao et al., FlashAttention, 2022). Unlike there keys are
// not cut, so that softmax needs no rescaling: scratch is 128 * steps floats per thread, twice that in
// backward. The blocks of one key head are one thread's, in their order, so that the gradients of keys and
// values are plain sums. 16-bit tensors are widened a head's keys and values and a block's queries at a time.
#include <algorithm>
#include <omp.h>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/base/scratch.h>
#include <nyala/backend/kernels/cpu/base/wide_runs.h>
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

const char* unsupported_reason(const KernelCall& call) {
  return is_narrow_float(call.output(0).dtype()) ? nullptr : "float32 and 16-bit floats only";
}

/// Some rows of one head of a tensor (batch, rows, heads, size).
struct Block {
  int64_t row, head, first, count;
};

RowsAt rows_at(const Tensor& t, const Block& b) {
  const Shape& s = t.shape();
  return {((b.row * s[1] + b.first) * s[2] + b.head) * s[3], b.count, s[3], s[2] * s[3]};
}

/// A block as float32: where it lies, or in `buffer`.
Matrix<const float> read(const Tensor& t, const Block& at, float* buffer) {
  const FloatRows<const float> rows = WideInput(t).read_rows(rows_at(t, at), buffer);
  return {rows.data, rows.stride};
}

/// Where a block is to be written, before write() of the same.
Matrix<float> place(const Tensor& t, const Block& at, float* buffer) {
  const FloatRows<float> rows = WideOutput(t).place_rows(rows_at(t, at), buffer);
  return {rows.data, rows.stride};
}

void write(const Tensor& t, const Block& at, const float* buffer) {
  WideOutput(t).write_rows(rows_at(t, at), buffer);
}

/// The buffer for read() or place() of so many rows.
float* buffer_for(const Tensor& t, int64_t rows, Scratch& scratch) {
  return wide_buffer(t, rows * t.shape()[3], scratch);
}

/// What a thread needs.
struct ForwardBuffers {
  float *scores, *query, *key, *value, *output;

  ForwardBuffers(const KernelCall& call, const ops::AttentionGeometry& g, Scratch& scratch) {
    const int64_t block = std::min(kBlock, g.time);
    scores = scratch.take(block * g.steps);
    query = buffer_for(call.input(0), block, scratch);
    key = buffer_for(call.input(1), g.steps, scratch);
    value = buffer_for(call.input(2), g.steps, scratch);
    output = buffer_for(call.output(0), block, scratch);
  }
};

struct BackwardBuffers {
  float *scores, *dscores, *query, *key, *value, *dy, *dquery, *dkey, *dvalue;

  BackwardBuffers(const KernelCall& call, const ops::AttentionGeometry& g, Scratch& scratch) {
    const int64_t block = std::min(kBlock, g.time);
    scores = scratch.take(block * g.steps);
    dscores = scratch.take(block * g.steps);
    query = buffer_for(call.input(0), block, scratch);
    key = buffer_for(call.input(1), g.steps, scratch);
    value = buffer_for(call.input(2), g.steps, scratch);
    dy = buffer_for(call.input(4), block, scratch);
    dquery = buffer_for(call.output(0), block, scratch);
    dkey = buffer_for(call.output(1), g.steps, scratch);
    dvalue = buffer_for(call.output(2), g.steps, scratch);
  }
};

template <class Buffers>
size_t workspace(const KernelCall& call) {
  Scratch scratch;
  const Buffers counted(call, ops::detail::attention_geometry(call), scratch);
  return static_cast<size_t>(compute_threads() * scratch.taken()) * sizeof(float);
}

void hide(const ops::HiddenScores& hidden, const Block& at, int64_t time, int64_t steps, float value,
          float* scores) {
  for (int64_t s = 0; s < steps; ++s)
    if (hidden.hides(at.row, at.head, time, s)) scores[s] = value;
}

/// Calls body(all keys of a head, buffers) for all key heads.
template <class Buffers, class Body>
void for_each_key_head(const KernelCall& call, const ops::AttentionGeometry& g, Body&& body) {
  Scratch counted;
  const Buffers unused(call, g, counted);
  parallel_for(g.batch * g.key_heads, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch(call.workspace.raw_as<float>() + omp_get_thread_num() * counted.taken());
    const Buffers buffers(call, g, scratch);
    for (int64_t i = begin; i < end; ++i) body(Block{i / g.key_heads, i % g.key_heads, 0, g.steps}, buffers);
  });
}

/// Calls body(queries) for the blocks of all heads of a key head, one after the other.
template <class Body>
void for_each_block(const ops::AttentionGeometry& g, const Block& keys, Body&& body) {
  for (int64_t in_group = 0; in_group < g.group(); ++in_group)
    for (int64_t first = 0; first < g.time; first += kBlock)
      body(Block{keys.row, keys.head * g.group() + in_group, first, std::min(kBlock, g.time - first)});
}

int64_t place_of_kept(const ops::AttentionGeometry& g, const Block& at) {
  return ((at.row * g.heads + at.head) * g.time + at.first) * 2;
}

template <LoopsOf kLoops>
void forward(const KernelCall& call) {
  const ops::AttentionGeometry g = ops::detail::attention_geometry(call);
  const float scale = static_cast<float>(call.descriptor<ops::AttentionDescriptor>().scale);
  const ops::HiddenScores hidden(call, 3);
  onednn::prepare_multiply();
  for_each_key_head<ForwardBuffers>(call, g, [&](const Block& keys, const ForwardBuffers& buffers) {
    const Matrix<const float> key = read(call.input(1), keys, buffers.key),
                              value = read(call.input(2), keys, buffers.value);
    for_each_block(g, keys, [&](const Block& at) {
      float* const p = buffers.scores;
      onednn::multiply({.rows = at.count, .inner = g.size, .columns = g.steps, .transpose_b = true}, scale,
                       {read(call.input(0), at, buffers.query), key, {p, g.steps}});
      float* kept = call.out<float>(1) + place_of_kept(g, at);
      for (int64_t t = 0; t < at.count; ++t) {
        float* row = p + t * g.steps;
        if (hidden.any()) hide(hidden, at, at.first + t, g.steps, static_cast<float>(ops::kHiddenScore), row);
        const SoftmaxLoops::Total total = kLoops().total(row, g.steps);
        kept[2 * t] = total.largest;
        kept[2 * t + 1] = 1.0f / total.sum;
        kLoops().scaled_exp(row, g.steps, kept[2 * t], kept[2 * t + 1], row);
      }
      onednn::multiply({.rows = at.count, .inner = g.steps, .columns = g.value_size}, 1.0f,
                       {{p, g.steps}, value, place(call.output(0), at, buffers.output)});
      write(call.output(0), at, buffers.output);
    });
  });
}

template <LoopsOf kLoops>
void backward(const KernelCall& call) {
  const ops::AttentionGeometry g = ops::detail::attention_geometry(call);
  const float scale = static_cast<float>(call.descriptor<ops::AttentionDescriptor>().scale);
  const ops::HiddenScores hidden(call, 5);
  onednn::prepare_multiply();
  for_each_key_head<BackwardBuffers>(call, g, [&](const Block& keys, const BackwardBuffers& buffers) {
    float *const p = buffers.scores, *const dp = buffers.dscores;
    const Matrix<const float> key = read(call.input(1), keys, buffers.key),
                              value = read(call.input(2), keys, buffers.value);
    const Matrix<float> dkey = place(call.output(1), keys, buffers.dkey),
                        dvalue = place(call.output(2), keys, buffers.dvalue);
    bool adds = false;
    for_each_block(g, keys, [&](const Block& at) {
      const Matrix<const float> query = read(call.input(0), at, buffers.query),
                                dy = read(call.input(4), at, buffers.dy);
      onednn::multiply({.rows = at.count, .inner = g.size, .columns = g.steps, .transpose_b = true}, scale,
                       {query, key, {p, g.steps}});
      onednn::multiply({.rows = at.count, .inner = g.value_size, .columns = g.steps, .transpose_b = true},
                       1.0f, {dy, value, {dp, g.steps}});
      const float* kept = call.in<float>(3) + place_of_kept(g, at);
      for (int64_t t = 0; t < at.count; ++t) {
        float *row = p + t * g.steps, *gradient = dp + t * g.steps;
        if (hidden.any()) hide(hidden, at, at.first + t, g.steps, static_cast<float>(ops::kHiddenScore), row);
        kLoops().scaled_exp(row, g.steps, kept[2 * t], kept[2 * t + 1], row);
        kLoops().softmax_backward(gradient, row, g.steps, gradient);
        if (hidden.any()) hide(hidden, at, at.first + t, g.steps, 0.0f, gradient);
      }
      onednn::multiply({.rows = g.steps, .inner = at.count, .columns = g.value_size, .transpose_a = true},
                       1.0f, {{p, g.steps}, dy, dvalue, adds});
      onednn::multiply({.rows = at.count, .inner = g.steps, .columns = g.size}, scale,
                       {{dp, g.steps}, key, place(call.output(0), at, buffers.dquery)});
      onednn::multiply({.rows = g.steps, .inner = at.count, .columns = g.size, .transpose_a = true}, scale,
                       {{dp, g.steps}, query, dkey, adds});
      write(call.output(0), at, buffers.dquery);
      adds = true;
    });
    write(call.output(1), keys, buffers.dkey);
    write(call.output(2), keys, buffers.dvalue);
  });
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  constexpr DeviceKind cpu = DeviceKind::cpu;
  table.add(ops::kDotProductAttention, cpu,
            {name, unsupported_reason, workspace<ForwardBuffers>, forward<kLoops>, true});
  table.add(ops::kDotProductAttentionBackward, cpu,
            {name, unsupported_reason, workspace<BackwardBuffers>, backward<kLoops>, true});
}

}  // namespace

void register_dot_product_attention(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<softmax_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<softmax_loops_avx2>(table, "avx2");
}

}  // namespace nyala

// Keras' definition (Vaswani et al. 2017), one query after the other: its scores, their softmax, the mean of
// the values. Hidden scores become a large negative number, not minus infinity, so that a query that sees
// nothing gives the mean of all values, not NaN, as in Keras. Backward makes the probabilities again from the
// largest score and 1 / sum.
#include <nyala/backend/ops/nn/dot_product_attention.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <nyala/backend/ops/base/broadcasting.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void check_inputs(InferContext& c) {
  const Shape &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
    c.fail("expected a query, key and value of 4 axes (batch, time, heads, size), received " + q.to_string() +
           ", " + k.to_string() + " and " + v.to_string());
  if (!is_floating(c.dtype(0)) || c.dtype(1) != c.dtype(0) || c.dtype(2) != c.dtype(0))
    c.fail("expected a query, key and value of one floating dtype");
  const auto same = [](int64_t a, int64_t b) { return a == b || a == None || b == None; };
  if (!same(q[0], k[0]) || !same(q[3], k[3]) || !matches(k.slice(0, 3), v.slice(0, 3)))
    c.fail("expected a key (" + std::to_string(q[0]) + ", steps, key heads, " + std::to_string(q[3]) +
           ") and a value with the same batch, steps and key heads, received " + k.to_string() + " and " +
           v.to_string());
  if (k[2] <= 0 || q[2] % k[2] != 0)
    c.fail("expected a number of key heads that divides the " + std::to_string(q[2]) + " heads, received " +
           std::to_string(k[2]));
}

void infer_attention(InferContext& c) {
  check_inputs(c);
  const Shape &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
  if (c.num_inputs() > 3) {
    const Shape scores{q[0], q[2], q[1], k[1]}, &mask = c.shape(3);
    if (c.dtype(3) != DType::bool_ || mask.rank() != 4 || !matches(broadcast(mask, scores, c.name()), scores))
      c.fail("expected a bool mask that broadcasts to " + scores.to_string() + ", received " +
             mask.to_string());
  }
  c.output(0, {q[0], q[1], q[2], v[3]}, c.dtype(0));
  c.output(1, {q[0], q[2], q[1], 2}, dtype_of_sums(c.dtype(0)));
}

void infer_attention_backward(InferContext& c) {
  for (size_t i = 0; i < 3; ++i) c.output(i, c.shape(i), c.dtype(i));
}

/// One head of one row of the batch, with the strides from one place in time to the next.
template <class T>
struct Head {
  const T *query, *key, *value;
  int64_t query_stride, key_stride, value_stride;

  Head(const KernelCall& call, const AttentionGeometry& g, int64_t row, int64_t head)
      : query(call.in<T>(0) + (row * g.time * g.heads + head) * g.size),
        key(call.in<T>(1) + (row * g.steps * g.key_heads + head / g.group()) * g.size),
        value(call.in<T>(2) + (row * g.steps * g.key_heads + head / g.group()) * g.value_size),
        query_stride(g.heads * g.size),
        key_stride(g.key_heads * g.size),
        value_stride(g.key_heads * g.value_size) {}
};

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// The scores of one query.
template <class T, class Hides>
void score(const Head<T>& head, const AttentionGeometry& g, int64_t time, double scale, const Hides& hides,
           std::vector<T>& scores) {
  for (int64_t s = 0; s < g.steps; ++s)
    scores[static_cast<size_t>(s)] =
        hides(s) ? static_cast<T>(kHiddenScore)
                 : static_cast<T>(scale) *
                       dot(head.query + time * head.query_stride, head.key + s * head.key_stride, g.size);
}

void attention_reference(const KernelCall& call) {
  const AttentionGeometry g = attention_geometry(call);
  const double scale = call.descriptor<AttentionDescriptor>().scale;
  const HiddenScores hidden(call, 3);
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    std::vector<T> p(static_cast<size_t>(g.steps));
    for (int64_t b = 0; b < g.batch; ++b)
      for (int64_t n = 0; n < g.heads; ++n)
        for (int64_t t = 0; t < g.time; ++t) {
          const Head<T> head(call, g, b, n);
          score(
              head, g, t, scale, [&](int64_t s) { return hidden.hides(b, n, t, s); }, p);
          T largest = g.steps > 0 ? *std::max_element(p.begin(), p.end()) : T(0), sum = 0;
          for (T& value : p) sum += value = std::exp(value - largest);
          const T inverse = g.steps > 0 ? T(1) / sum : T(0);
          T* y = call.out<T>(0) + ((b * g.time + t) * g.heads + n) * g.value_size;
          std::fill_n(y, g.value_size, T(0));
          for (int64_t s = 0; s < g.steps; ++s)
            for (int64_t i = 0; i < g.value_size; ++i)
              y[i] += p[static_cast<size_t>(s)] * inverse * head.value[s * head.value_stride + i];
          T* kept = call.out<T>(1) + ((b * g.heads + n) * g.time + t) * 2;
          kept[0] = largest;
          kept[1] = inverse;
        }
  });
}

/// What one query adds to the gradients: p its probabilities, dp their gradients.
template <class T>
struct BackwardQuery {
  const AttentionGeometry& g;
  const Head<T>& head;
  T *dq, *dk, *dv;  // of this query; of the head's first key and value

  template <class Hides>
  void add(int64_t time, const T* dy, double scale, const Hides& hides, const std::vector<T>& p) const {
    std::vector<T> dp(p.size());
    T mean = 0;
    for (int64_t s = 0; s < g.steps; ++s) {
      const size_t i = static_cast<size_t>(s);
      dp[i] = dot(dy, head.value + s * head.value_stride, g.value_size);
      mean += p[i] * dp[i];
      for (int64_t j = 0; j < g.value_size; ++j) dv[s * head.value_stride + j] += p[i] * dy[j];
    }
    const T* q = head.query + time * head.query_stride;
    for (int64_t s = 0; s < g.steps; ++s) {
      const size_t i = static_cast<size_t>(s);
      const T ds = hides(s) ? T(0) : static_cast<T>(scale) * p[i] * (dp[i] - mean);
      for (int64_t j = 0; j < g.size; ++j) {
        dq[j] += ds * head.key[s * head.key_stride + j];
        dk[s * head.key_stride + j] += ds * q[j];
      }
    }
  }
};

void attention_backward_reference(const KernelCall& call) {
  const AttentionGeometry g = attention_geometry(call);
  const double scale = call.descriptor<AttentionDescriptor>().scale;
  const HiddenScores hidden(call, 5);
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    std::vector<T> p(static_cast<size_t>(g.steps));
    for (size_t i = 0; i < 3; ++i) std::fill_n(call.out<T>(i), call.output(i).num_elements(), T(0));
    for (int64_t b = 0; b < g.batch; ++b)
      for (int64_t n = 0; n < g.heads; ++n)
        for (int64_t t = 0; t < g.time; ++t) {
          const Head<T> head(call, g, b, n);
          const auto hides = [&](int64_t s) { return hidden.hides(b, n, t, s); };
          score(head, g, t, scale, hides, p);
          const T* kept = call.in<T>(3) + ((b * g.heads + n) * g.time + t) * 2;
          for (T& value : p) value = std::exp(value - kept[0]) * kept[1];
          const int64_t key_head = b * g.steps * g.key_heads + n / g.group();
          const int64_t query = (b * g.time + t) * g.heads + n;
          const BackwardQuery<T> one{g, head, call.out<T>(0) + query * g.size,
                                     call.out<T>(1) + key_head * g.size,
                                     call.out<T>(2) + key_head * g.value_size};
          one.add(t, call.in<T>(4) + query * g.value_size, scale, hides, p);
        }
  });
}

void attention_gradient(GradContext& c) {
  std::vector<const Tensor*> inputs{&c.input(0), &c.input(1), &c.input(2), &c.output(1), &c.grad()};
  if (c.num_inputs() > 3) inputs.push_back(&c.input(3));
  std::array<Tensor, 3> gradients;
  dispatch(kDotProductAttentionBackward, c.descriptor<AttentionDescriptor>(), inputs, gradients);
  for (size_t i = 0; i < 3; ++i)
    if (c.needs(i)) c.set(i, gradients[i]);
}

}  // namespace

AttentionGeometry detail::attention_geometry(const KernelCall& call) {
  const Shape &q = call.input(0).shape(), &k = call.input(1).shape(), &v = call.input(2).shape();
  return {q[0], q[1], q[2], q[3], k[1], k[2], v[3]};
}

HiddenScores::HiddenScores(const KernelCall& call, size_t mask)
    : causal_(call.descriptor<AttentionDescriptor>().causal) {
  if (call.inputs.size() <= mask) return;
  const AttentionGeometry g = attention_geometry(call);
  const auto strides = broadcast_strides(call.input(mask).shape(), {g.batch, g.heads, g.time, g.steps});
  std::copy_n(strides.begin(), 4, strides_);
  mask_ = call.in<bool>(mask);
}

const OpDef kDotProductAttention = {.name = "dot_product_attention",
                                    .num_outputs = 2,
                                    .infer = infer_attention,
                                    .gradient = attention_gradient,
                                    .keep_inputs = keep(0, 1, 2) | keep(3),
                                    .keep_outputs = keep(1),
                                    .reference = attention_reference};
const OpDef kDotProductAttentionBackward = {.name = "dot_product_attention_backward",
                                            .num_outputs = 3,
                                            .infer = infer_attention_backward,
                                            .reference = attention_backward_reference};

Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                             const AttentionDescriptor& descriptor) {
  std::array<Tensor, 2> outputs;
  const std::array<const Tensor*, 4> inputs{&query, &key, &value, &mask};
  dispatch(kDotProductAttention, descriptor, TensorPointers(inputs.data(), mask.defined() ? 4 : 3), outputs);
  return outputs[0];
}

}  // namespace nyala::ops

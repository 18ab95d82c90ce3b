#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

struct AttentionDescriptor {
  double scale = 1.0;
  bool causal = false;
};

/// softmax(scale * query . key^T) . value for each head, as keras.ops.dot_product_attention: query (batch,
/// time, heads, size), key (batch, steps, key heads, size), value (batch, steps, key heads, value size) ->
/// (batch, time, heads, value size). Key heads divide heads; each serves that many query heads side by side.
/// `mask`, undefined or bool and broadcast to (batch, heads, time, steps), is true where a query may look;
/// `causal` hides the keys behind a query's place, too. A hidden score is -0.7 * 3.38953e38, so a query that
/// sees nothing takes the mean of all values. Floating tensors of one dtype. The probabilities are not kept
/// for the gradient but computed again. Throws ShapeError where the tensors do not fit together.
Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                             const AttentionDescriptor& descriptor = {});

inline constexpr double kHiddenScore = -0.7 * 3.38953e38;

/// Inputs (query, key, value[, mask]); outputs the result and (batch, heads, time, 2): the largest score of
/// each query and 1 / the sum of exp(score - largest).
extern const OpDef kDotProductAttention;
/// Inputs (query, key, value, the second output, gradient[, mask]) -> gradients of query, key and value.
extern const OpDef kDotProductAttentionBackward;

/// The sizes of a call of either op, whose first three inputs are the same.
struct AttentionGeometry {
  int64_t batch, time, heads, size, steps, key_heads, value_size;
  int64_t group() const { return heads / key_heads; }
};

namespace detail {

AttentionGeometry attention_geometry(const KernelCall& call);

}  // namespace detail

/// Which scores of a call are hidden.
class HiddenScores {
 public:
  /// `mask` is the input that holds it, if the call has so many.
  HiddenScores(const KernelCall& call, size_t mask);
  bool any() const { return mask_ != nullptr || causal_; }
  bool hides(int64_t batch, int64_t head, int64_t time, int64_t step) const {
    if (causal_ && step > time) return true;
    return mask_ &&
           !mask_[batch * strides_[0] + head * strides_[1] + time * strides_[2] + step * strides_[3]];
  }

 private:
  const bool* mask_ = nullptr;
  bool causal_ = false;
  int64_t strides_[4] = {0, 0, 0, 0};
};

}  // namespace nyala::ops

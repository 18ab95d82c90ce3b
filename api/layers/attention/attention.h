#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct AttentionConfig {
  NamesRequired names_required = NamesRequired();
  bool use_scale = false;
  std::string score_mode = "dot";  // or "concat"
  double dropout = 0.0;
  int64_t seed = -1;  // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// What a call of Attention or AdditiveAttention is told besides its tensors.
struct AttentionOptions {
  bool return_attention_scores = false;
  bool use_causal_mask = false;
};

/// A handle on a layer that is called with {query, value} or {query, value, key}: (batch, time, size), twice
/// (batch, steps, size) -> (batch, time, size of value); scores (batch, time, steps). Masks of query and
/// value travel with them; a masked query gives zeros.
class SequenceAttention : public Layer {
 public:
  using Layer::Layer;
  using Layer::operator();
  using Layer::call_all;
  Tensor operator()(const Tensors& inputs, const AttentionOptions& options) const;
  Tensors call_all(const Tensors& inputs, const AttentionOptions& options) const;
};

/// Luong's attention: softmax(score(query, key)) . value. Score "dot": query . key, times the weight `scale`
/// with use_scale; "concat": concat_score_weight * sum(tanh(scale * (query + key))).
class Attention : public SequenceAttention {
 public:
  using Config = AttentionConfig;
  /// Throws InvalidArgumentError for another score_mode or a dropout outside [0, 1].
  explicit Attention(const Config& config = {});
  template <size_t N>
  explicit Attention(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/attention/attention_inputs.h>

namespace nyala {

struct MultiHeadAttentionConfig {
  NamesRequired names_required = NamesRequired();
  int64_t num_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;  // 0: key_dim
  double dropout = 0.0;
  bool use_bias = true;
  std::vector<int64_t> output_shape = {};    // of the last axes; empty: the query's last size
  std::vector<int64_t> attention_axes = {};  // empty: all but batch, heads and features
  int64_t sliding_window = 0;                // 0: none
  bool flash_attention = false;              // accepted; no tensor of scores is made either way
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  bool use_gate = false;
  int64_t seed = -1;  // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Vaswani et al. 2017: query, key and value are projected for each head, each query takes the mean of the
/// values weighted by softmax(query . key / sqrt(key_dim)), and the heads' results are projected back. Query
/// (batch, time, features), value and key (batch, steps, features) -> (batch, time, output_shape); scores
/// (batch, heads, time, steps). Called as `mha(query, value)`, `mha(query, value, {.key = key,
/// .use_causal_mask = true})` or with {query, value[, key]}. As in Keras a query whose keys are all hidden
/// takes the mean of all values, but nothing where dropout is above 0 or scores are returned; and in a
/// functional model the masks of query, value and key end here: calls that run after this one see those
/// tensors without.
class MultiHeadAttention : public AttentionLayer {
 public:
  using Config = MultiHeadAttentionConfig;
  /// Throws InvalidArgumentError unless num_heads and key_dim are above 0. So does a call whose query has a
  /// mask by given_mask().
  explicit MultiHeadAttention(const Config& config);
  template <size_t N>
  explicit MultiHeadAttention(const NoSuchField (&)[N]) = delete;
  MultiHeadAttention(int64_t num_heads, int64_t key_dim, Config config = {});
  template <size_t N>
  MultiHeadAttention(int64_t, int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

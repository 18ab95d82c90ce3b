#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/attention/attention_inputs.h>

namespace nyala {

struct GroupQueryAttentionConfig {
  NamesRequired names_required = NamesRequired();
  int64_t head_dim = 0;
  int64_t num_query_heads = 0;
  int64_t num_key_value_heads = 0;
  double dropout = 0.0;
  bool use_bias = true;
  int64_t sliding_window = 0;    // 0: none
  bool flash_attention = false;  // accepted; no tensor of scores is made either way
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

/// MultiHeadAttention whose heads share keys and values in groups (Ainslie et al. 2023): num_query_heads /
/// num_key_value_heads neighbouring query heads look at one key head. Query (batch, time, features), value
/// and key (batch, steps, features) -> (batch, time, features). Called like MultiHeadAttention.
class GroupQueryAttention : public AttentionLayer {
 public:
  using Config = GroupQueryAttentionConfig;
  /// Throws InvalidArgumentError unless the three sizes are above 0 and the key heads divide the query heads.
  explicit GroupQueryAttention(const Config& config);
  template <size_t N>
  explicit GroupQueryAttention(const NoSuchField (&)[N]) = delete;
  GroupQueryAttention(int64_t head_dim, int64_t num_query_heads, int64_t num_key_value_heads,
                      Config config = {});
  template <size_t N>
  GroupQueryAttention(int64_t, int64_t, int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

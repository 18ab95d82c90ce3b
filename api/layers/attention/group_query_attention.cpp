// Ainslie et al. 2023: several query heads share a key and value head. The op reads shared heads in place;
// only where scores or dropout are asked for are they repeated.
#include <nyala/api/layers/attention/group_query_attention.h>
#include <nyala/api/layers/base/config_fields.h>

#include <cmath>

#include <nyala/api/layers/attention/attention_node.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/dot_product_attention.h>
#include <nyala/backend/ops/nn/einsum.h>
#include <nyala/backend/ops/shape/repeat.h>

namespace nyala {

using namespace nyala::detail;

void GroupQueryAttentionConfig::fields(FieldVisitor& v) {
  v.field("head_dim", head_dim);
  v.field("num_query_heads", num_query_heads);
  v.field("num_key_value_heads", num_key_value_heads);
  v.field("dropout", dropout);
  v.field("use_bias", use_bias);
  v.optional("sliding_window", sliding_window, 0);
  visit_weights(v, *this);
  v.field("use_gate", use_gate);
  v.optional("seed", seed, -1);
}

namespace {

class GroupQueryAttentionNode final : public ProjectedQueryNode<GroupQueryAttentionConfig> {
 public:
  explicit GroupQueryAttentionNode(const GroupQueryAttentionConfig& config) : ProjectedQueryNode(config) {
    check_positive("GroupQueryAttention", "head_dim", config.head_dim);
    check_positive("GroupQueryAttention", "num_query_heads", Size<1>(config.num_query_heads));
    check_positive("GroupQueryAttention", "num_key_value_heads", config.num_key_value_heads);
    check_fraction("GroupQueryAttention", "dropout", config.dropout);
    if (config.num_query_heads % config.num_key_value_heads != 0)
      throw InvalidArgumentError("GroupQueryAttention: expected num_query_heads to be a multiple of the " +
                                 std::to_string(config.num_key_value_heads) + " key heads, received " +
                                 std::to_string(config.num_query_heads));
  }

  /// Keras' class of its public name: files number its weights by this one.
  std::string class_name() const override { return "GroupedQueryAttention"; }

  void build(Builder& b, const Shapes& inputs) override {
    check_count(inputs);
    const Shape &query = inputs[0], &value = inputs[1], &key = inputs.size() > 2 ? inputs[2] : value;
    if (query.rank() != 3 || value.rank() != 3 || key.rank() != 3 ||
        !matches(key.slice(1, 2), value.slice(1, 2)))
      throw ShapeError(
          "expected a query (batch, time, features) and value and key (batch, steps, features), "
          "received " +
          query.to_string() + ", " + value.to_string() + " and " + key.to_string());
    sublayers_.clear();
    const int64_t heads = config_.num_query_heads, key_heads = config_.num_key_value_heads,
                  size = config_.head_dim;
    query_dense_ = projection(b, "_query_dense", "query", query, {heads, size});
    key_dense_ = projection(b, "_key_dense", "key", key, {key_heads, size});
    if (config_.use_gate) gate_dense_ = projection(b, "_gate_dense", "gate", query, {heads, size});
    value_dense_ = projection(b, "_value_dense", "value", value, {key_heads, size});
    output_dense_ = projection(b, "_output_dense", "attention_output", {query[0], query[1], heads, size},
                               {query.back()}, 2);
  }

  Outputs call(Call& c, Inputs inputs) const override {
    const AttentionInputs in = attention_inputs(inputs);
    if (in.query.is_abstract()) return abstract_outputs(in);
    check_floating(in.query);
    const Tensor query = query_dense_(c, unmasked(in.query)), key = key_dense_(c, unmasked(in.key)),
                 value = value_dense_(c, unmasked(in.value));
    const double scale = 1.0 / std::sqrt(static_cast<double>(config_.head_dim));
    Tensor y, scores;
    if (config_.dropout == 0.0 && !in.return_attention_scores) {
      const Tensor mask =
          raised_attention_mask(joined_attention_mask(in, config_.sliding_window, false), 4, 1);
      y = ops::dot_product_attention(query, key, value, mask, {scale, in.use_causal_mask});
    } else {
      const int repeats = static_cast<int>(config_.num_query_heads / config_.num_key_value_heads);
      const Tensor mask =
          raised_attention_mask(joined_attention_mask(in, config_.sliding_window, true), 4, 1);
      scores = masked_softmax(ops::einsum("bquh,bkuh->buqk", {query * scale, ops::repeat(key, repeats, 2)}),
                              mask, 1);
      y = ops::einsum("buqk,bkuh->bquh",
                      {weights_after_dropout(c, scores, config_.dropout), ops::repeat(value, repeats, 2)});
    }
    return finished(c, in, y, scores);
  }

 private:
  Outputs abstract_outputs(const AttentionInputs& in) const {
    const Shape& query = in.query.shape();
    Outputs outputs{Tensor::abstract(query, compute_dtype(), in.query.device())};
    if (in.return_attention_scores)
      outputs.push_back(Tensor::abstract({query[0], config_.num_query_heads, query[1], in.key.shape()[1]},
                                         compute_dtype(), in.query.device()));
    return outputs;
  }
};

}  // namespace

GroupQueryAttention::GroupQueryAttention(const Config& config)
    : AttentionLayer(node_from<GroupQueryAttentionNode>(config)) {}

GroupQueryAttention::GroupQueryAttention(int64_t head_dim, int64_t num_query_heads,
                                         int64_t num_key_value_heads, Config config)
    : GroupQueryAttention(with(std::move(config), &Config::head_dim, head_dim, &Config::num_query_heads,
                               num_query_heads, &Config::num_key_value_heads, num_key_value_heads)) {}

}  // namespace nyala

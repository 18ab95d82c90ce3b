// Vaswani et al. 2017 as Keras has it: projections by EinsumDense, scores, softmax, values, a projection
// back. With one attended axis and where neither dropout nor scores are asked for, the middle is one op that
// never makes all scores (backend/ops/nn/dot_product_attention.h), else it is made of einsums.
#include <nyala/api/layers/attention/multi_head_attention.h>
#include <nyala/api/layers/base/config_fields.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nyala/api/layers/attention/attention_node.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/dot_product_attention.h>
#include <nyala/backend/ops/nn/einsum.h>

namespace nyala {

using namespace nyala::detail;

void MultiHeadAttentionConfig::fields(FieldVisitor& v) {
  v.field("num_heads", num_heads);
  v.field("key_dim", key_dim);
  v.optional("value_dim", value_dim, 0);
  v.field("dropout", dropout);
  v.field("use_bias", use_bias);
  v.field("output_shape", output_shape);
  v.field("attention_axes", attention_axes);
  v.optional("sliding_window", sliding_window, 0);
  visit_weights(v, *this);
  v.field("use_gate", use_gate);
  v.optional("seed", seed, -1);
}

namespace {

MultiHeadAttentionConfig checked(MultiHeadAttentionConfig config) {
  check_positive("MultiHeadAttention", "num_heads", config.num_heads);
  check_positive("MultiHeadAttention", "key_dim", config.key_dim);
  if (config.value_dim == 0) config.value_dim = config.key_dim;
  check_positive("MultiHeadAttention", "value_dim", config.value_dim);
  check_fraction("MultiHeadAttention", "dropout", config.dropout);
  if (config.sliding_window < 0)
    throw InvalidArgumentError("MultiHeadAttention: expected a sliding_window above 0, received " +
                               std::to_string(config.sliding_window));
  return config;
}

class MultiHeadAttentionNode final : public ProjectedQueryNode<MultiHeadAttentionConfig> {
 public:
  explicit MultiHeadAttentionNode(const MultiHeadAttentionConfig& config)
      : ProjectedQueryNode(checked(config)) {}

  std::string class_name() const override { return "MultiHeadAttention"; }
  bool strips_masks() const override { return true; }

  void build(Builder& b, const Shapes& inputs) override {
    check_count(inputs);
    const Shape &query = inputs[0], &value = inputs[1];
    const Shape& key = inputs.size() > 2 ? inputs[2] : value;
    check_shapes(query, value, key);
    sublayers_.clear();
    const int64_t heads = config_.num_heads;
    query_dense_ = projection(b, "query_dense", "query", query, {heads, config_.key_dim});
    key_dense_ = projection(b, "key_dense", "key", key, {heads, config_.key_dim});
    if (config_.use_gate)
      gate_dense_ = projection(b, "_gate_dense", "gate", query, {heads, config_.value_dim});
    value_dense_ = projection(b, "value_dense", "value", value, {heads, config_.value_dim});
    Shape attended = query.with(-1, heads);
    attended.append(config_.value_dim);
    const std::vector<int64_t> back =
        config_.output_shape.empty() ? std::vector<int64_t>{query.back()} : config_.output_shape;
    output_dense_ = projection(b, "output_dense", "attention_output", attended, back, 2);
    choose_axes(query.rank());
  }

  Outputs call(Call& c, Inputs inputs) const override {
    const AttentionInputs in = attention_inputs(inputs);
    if (has_given_mask(in.query))
      throw InvalidArgumentError(
          "Keras ignores a query_mask that is given, and so would files: pass it as attention_mask, (batch, "
          "time, "
          "1)");
    if (in.query.is_abstract()) return abstract_outputs(in);
    check_floating(in.query);
    const Tensor query = query_dense_(c, unmasked(in.query)), key = key_dense_(c, unmasked(in.key)),
                 value = value_dense_(c, unmasked(in.value));
    const double scale = 1.0 / std::sqrt(static_cast<double>(config_.key_dim));
    const int attended = static_cast<int>(axes_.size());
    Tensor y, scores;
    if (config_.dropout == 0.0 && !in.return_attention_scores && query.rank() == 4) {
      const Tensor mask =
          raised_attention_mask(joined_attention_mask(in, config_.sliding_window, false), 4, attended);
      y = ops::dot_product_attention(query, key, value, mask, {scale, in.use_causal_mask});
    } else {
      const Tensor products = ops::einsum(equations_.scores, {key, query * scale});
      const Tensor mask = raised_attention_mask(joined_attention_mask(in, config_.sliding_window, true),
                                                products.rank(), attended);
      scores = masked_softmax(products, mask, attended);
      y = ops::einsum(equations_.result, {weights_after_dropout(c, scores, config_.dropout), value});
    }
    return finished(c, in, y, scores);
  }

 private:
  static void check_shapes(const Shape& query, const Shape& value, const Shape& key) {
    if (query.rank() < 3 || value.rank() != query.rank() || key.rank() != query.rank())
      throw ShapeError("expected query, value and key (batch, time, features), received " +
                       query.to_string() + ", " + value.to_string() + " and " + key.to_string());
    if (!matches(key.slice(1, key.rank() - 1), value.slice(1, value.rank() - 1)))
      throw ShapeError("expected a value and a key with the same steps, received " + value.to_string() +
                       " and " + key.to_string());
  }

  void choose_axes(int rank) {
    axes_ = config_.attention_axes;
    if (axes_.empty()) {
      axes_.resize(static_cast<size_t>(rank - 2));
      std::iota(axes_.begin(), axes_.end(), 1);
    }
    for (int64_t& axis : axes_) {
      if (axis < 0) axis += rank;
      if (axis < 1 || axis > rank - 2)
        throw ShapeError("expected attention_axes between the batch and the features of " +
                         std::to_string(rank) + " axes, received " + std::to_string(axis));
    }
    config_.attention_axes = axes_;
    equations_ = attention_equations(rank + 1, axes_);
  }

  Outputs abstract_outputs(const AttentionInputs& in) const {
    Shape out = in.query.shape().slice(0, in.query.rank() - 1);
    if (config_.output_shape.empty()) out.append(in.query.shape().back());
    for (const int64_t size : config_.output_shape) out.append(size);
    Outputs outputs{Tensor::abstract(out, compute_dtype(), in.query.device())};
    if (!in.return_attention_scores) return outputs;
    Shape scores;
    for (int axis = 0; axis < in.query.rank() - 1; ++axis)
      if (std::find(axes_.begin(), axes_.end(), axis) == axes_.end()) scores.append(in.query.shape()[axis]);
    scores.append(config_.num_heads);
    for (const int64_t axis : axes_) scores.append(in.query.shape()[static_cast<int>(axis)]);
    for (const int64_t axis : axes_) scores.append(in.value.shape()[static_cast<int>(axis)]);
    outputs.push_back(Tensor::abstract(scores, compute_dtype(), in.query.device()));
    return outputs;
  }

  std::vector<int64_t> axes_;  // attended ones, from 1
  AttentionEquations equations_;
};

}  // namespace

MultiHeadAttention::MultiHeadAttention(const Config& config)
    : AttentionLayer(node_from<MultiHeadAttentionNode>(config)) {}

MultiHeadAttention::MultiHeadAttention(int64_t num_heads, int64_t key_dim, Config config)
    : MultiHeadAttention(with(std::move(config), &Config::num_heads, num_heads, &Config::key_dim, key_dim)) {}

}  // namespace nyala

// What Keras' Attention (Luong et al. 2015) and AdditiveAttention (Bahdanau et al. 2015) share: scores by the
// layer's own rule, hidden ones less 1e9, softmax, a mean of the values. Sequences have no heads, so these
// are plain products.
#include <nyala/api/layers/attention/sequence_attention.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Taken from a hidden score.
double hidden_score(DType dtype) { return dtype == DType::float16 ? 65504.0 : 1.0e9; }

/// Where queries may look, for scores (batch, time, steps); undefined: everywhere.
Tensor shown(const Tensor& value_mask, const Shape& scores, bool causal, Device device) {
  Tensor mask;
  if (value_mask.defined()) mask = ops::expand_dims(ops::cast(value_mask, DType::bool_), -2);
  if (!causal) return mask;
  const auto places = [&](int64_t count, const Shape& shape) {
    return ops::arange(0, static_cast<double>(count), {.device = device}).with_shape(shape);
  };
  const Tensor before =
      ops::greater_equal(places(scores[-2], {1, scores[-2], 1}), places(scores[-1], {1, 1, scores[-1]}));
  return mask.defined() ? ops::logical_and(mask, before) : before;
}

}  // namespace

SequenceAttentionNode::SequenceAttentionNode(const std::string& layer, double dropout, int64_t seed)
    : QueryNode(seed), dropout_(dropout) {
  check_fraction(layer, "dropout", dropout);
}

void SequenceAttentionNode::build(Builder& b, const Shapes& inputs) {
  if (inputs.size() < 2 || inputs.size() > 3)
    throw InvalidArgumentError("expected a list of query and value, or of query, value and key; received " +
                               std::to_string(inputs.size()) + " tensor(s)");
  for (const Shape& input : inputs)
    if (input.rank() != 3)
      throw ShapeError("expected sequences (batch, time, size), received " + input.to_string());
  const Shape &query = inputs[0], &value = inputs[1], &key = inputs.back();
  if (!matches(key.slice(2, 3), query.slice(2, 3)) || !matches(key.slice(1, 2), value.slice(1, 2)))
    throw ShapeError(
        "expected a key with the last size of the query and the steps of the value, received query " +
        query.to_string() + ", value " + value.to_string() + " and key " + key.to_string());
  build_score(b, query);
}

Tensor SequenceAttentionNode::sum_of_pairs(const Tensor& query, const Tensor& key) {
  return ops::expand_dims(query, -2) + ops::expand_dims(key, -3);
}

Outputs SequenceAttentionNode::call(Call& c, Inputs inputs) const {
  const auto arguments = call_arguments_of(inputs[0]);
  const Tensor query = unmasked(inputs[0]), value = unmasked(inputs[1]), key = unmasked(inputs.back());
  Tensor scores = score(c, query, key);
  Tensor weights, y;
  if (query.is_abstract()) {
    weights = scores;
    y = ops::matmul(weights, value);
  } else {
    const bool causal = arguments && arguments->flag("use_causal_mask");
    const Tensor mask = shown(mask_of(inputs[1]), scores.shape(), causal, query.device());
    if (mask.defined()) scores = ops::where(mask, scores, scores - hidden_score(scores.dtype()));
    weights = weights_after_dropout(c, ops::softmax(scores, -1), dropout_);
    y = ops::matmul(weights, value);
    if (const Tensor rows = mask_of(inputs[0]); rows.defined())
      y = ops::where(ops::expand_dims(rows, -1), y, Tensor::zeros({}, y.dtype(), y.device()));
  }
  Outputs outputs{y};
  if (arguments && arguments->flag("return_attention_scores")) outputs.push_back(weights);
  return outputs;
}

Tensors SequenceAttention::call_all(const Tensors& inputs, const AttentionOptions& options) const {
  auto arguments = std::make_shared<CallArguments>();
  if (options.return_attention_scores) arguments->flags["return_attention_scores"] = true;
  if (options.use_causal_mask) arguments->flags["use_causal_mask"] = true;
  Tensors told = inputs;
  if (!told.empty()) told[0] = with_call_arguments(told[0], std::move(arguments));
  return Layer::call_all(told);
}

Tensor SequenceAttention::operator()(const Tensors& inputs, const AttentionOptions& options) const {
  Tensors outputs = call_all(inputs, options);
  if (outputs.size() != 1)
    throw StateError("layer " + in_quotes(name()) + " returns its scores, too; use call_all()");
  return std::move(outputs[0]);
}

}  // namespace nyala

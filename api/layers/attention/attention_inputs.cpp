// Keras' MultiHeadAttention._compute_attention_mask: the masks of query and value, the causal mask and the
// sliding window are joined by "and" into one (batch, time, steps), raised to the scores' axes. Named
// arguments of a call travel as metadata of the query, since layers are given a list.
#include <nyala/api/layers/attention/attention_inputs.h>

#include <algorithm>

#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/backend/ops/reduction/statistics.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// The name of a third tensor that only holds the key's place.
constexpr const char* kNoKey = "";

Tensor both(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? ops::logical_and(a, b) : a;
}

Tensor as_bool(const Tensor& mask) { return mask.defined() ? ops::cast(mask, DType::bool_) : mask; }

Tensor expanded(const Tensor& mask, int axis) {
  return mask.defined() ? ops::expand_dims(as_bool(mask), axis) : mask;
}

/// Places in time of queries (1, time, 1) and of keys (1, 1, steps).
struct Places {
  Tensor query, key;
};

Places places_of(const AttentionInputs& in) {
  const int64_t time = in.query.shape()[1], steps = in.value.shape()[1];
  const auto count = [&](int64_t n) {
    return ops::arange(0, static_cast<double>(n), {.device = in.query.device()});
  };
  return {count(time).with_shape({1, time, 1}), count(steps).with_shape({1, 1, steps})};
}

}  // namespace

const std::vector<std::string>& detail::attention_names() {
  static const std::vector<std::string>& names = *new std::vector<std::string>{"query", "value", "key"};
  return names;
}

Tensors detail::attention_tensors(const Tensor& query, const Tensor& value, const AttentionCall& call) {
  Tensors tensors{query, value};
  auto arguments = std::make_shared<CallArguments>();
  arguments->tensors = {"", ""};
  if (call.key.defined() || call.attention_mask.defined()) {
    tensors.push_back(call.key.defined() ? call.key : value);
    arguments->tensors.push_back(call.key.defined() ? "key" : kNoKey);
  }
  if (call.attention_mask.defined()) {
    tensors.push_back(call.attention_mask);
    arguments->tensors.push_back("attention_mask");
  }
  if (call.return_attention_scores) arguments->flags["return_attention_scores"] = true;
  if (call.use_causal_mask) arguments->flags["use_causal_mask"] = true;
  tensors[0] = with_call_arguments(query, std::move(arguments));
  return tensors;
}

AttentionInputs detail::attention_inputs(Inputs inputs) {
  AttentionInputs in;
  const auto arguments = call_arguments_of(inputs[0]);
  const auto names = arguments ? arguments->tensors : attention_names();
  if (inputs.size() < 2 || inputs.size() > std::max<size_t>(names.size(), 2))
    throw InvalidArgumentError("expected a query, a value and perhaps a key, received " +
                               std::to_string(inputs.size()) + " tensor(s)");
  in.query = inputs[0];
  in.value = in.key = inputs[1];
  in.has_key = inputs.size() > 2 && names[2] != kNoKey;
  if (in.has_key) in.key = inputs[2];
  if (inputs.size() > 3) in.attention_mask = inputs[3];
  in.return_attention_scores = arguments && arguments->flag("return_attention_scores");
  in.use_causal_mask = arguments && arguments->flag("use_causal_mask");
  return in;
}

Tensor detail::joined_attention_mask(const AttentionInputs& in, int64_t sliding_window, bool causal) {
  Tensor mask = both(expanded(mask_of(in.query), -1), expanded(mask_of(in.value), -2));
  if (in.has_key) mask = both(mask, expanded(mask_of(in.key), -2));
  if (causal && in.use_causal_mask) {
    const Places places = places_of(in);
    mask = both(mask, ops::greater_equal(places.query, places.key));
  }
  if (sliding_window > 0) {
    const Places places = places_of(in);
    const Tensor width =
        Tensor::full({}, static_cast<double>(sliding_window), DType::int32, in.query.device());
    mask = both(mask, ops::less(ops::abs(places.query - places.key), width));
  }
  return both(as_bool(in.attention_mask), mask);
}

Tensor detail::raised_attention_mask(const Tensor& mask, int rank, int attended) {
  if (!mask.defined() || mask.rank() >= rank) return mask;
  Shape shape = mask.shape();
  const int behind = std::min(2 * attended, shape.rank());
  Shape raised = shape.slice(0, shape.rank() - behind);
  for (int i = shape.rank(); i < rank; ++i) raised.append(1);
  for (int i = shape.rank() - behind; i < shape.rank(); ++i) raised.append(shape[i]);
  return mask.with_shape(raised);
}

Tensor detail::masked_softmax(const Tensor& scores, const Tensor& mask, int axes) {
  const auto fill = [&](double value) { return Tensor::full({}, value, scores.dtype(), scores.device()); };
  const double hidden = scores.dtype() == DType::float16 ? -3e4 : -1e9;  // of Keras' Softmax layer
  const Tensor shown = mask.defined() ? ops::where(mask, scores, fill(hidden)) : scores;
  std::vector<int> last;
  for (int axis = -axes; axis < 0; ++axis) last.push_back(axis);
  const Tensor y = axes == 1 ? ops::softmax(shown, -1) : ops::exp(shown - ops::logsumexp(shown, last, true));
  return mask.defined() ? ops::where(mask, y, fill(0.0)) : y;
}

Tensor detail::unmasked(const Tensor& x) {
  Tensor out = x;
  out.set_metadata(nullptr);
  return out;
}

namespace {

Tensor only(Tensors outputs) {
  if (outputs.size() != 1) throw StateError("the attention layer returns its scores, too; use call_all()");
  return std::move(outputs[0]);
}

}  // namespace

Tensors AttentionLayer::call_all(const Tensor& query, const Tensor& value, const AttentionCall& call) const {
  return Layer::call_all(attention_tensors(query, value, call));
}

Tensor AttentionLayer::operator()(const Tensor& query, const Tensor& value, const AttentionCall& call) const {
  return only(call_all(query, value, call));
}

Tensor AttentionLayer::operator()(Call& c, const Tensor& query, const Tensor& value,
                                  const AttentionCall& call) const {
  const Tensors tensors = attention_tensors(query, value, call);
  return only(Layer::operator()(c, Inputs(tensors)));
}

}  // namespace nyala

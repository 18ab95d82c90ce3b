#pragma once

#include <string>

#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// What an attention layer is told besides query and value: Keras' call arguments. Masks of query, value and
/// key travel with them (given_mask, or those that Embedding and Masking make).
struct AttentionCall {
  Tensor key = {};  // not given: the value
  Tensor attention_mask =
      {};  // not 0 where a query may look: (batch, time, steps), with leading axes absent or 1
  bool return_attention_scores = false;
  bool use_causal_mask = false;
};

namespace detail {

/// The tensors of a call as the layer takes them, with their arguments (call_arguments.h): query, value, key
/// (or the value in its place, named ""), attention_mask.
Tensors attention_tensors(const Tensor& query, const Tensor& value, const AttentionCall& call);

}  // namespace detail

/// The same again inside the layer; without arguments the tensors are query, value and key. Throws
/// InvalidArgumentError for another number of tensors.
struct AttentionInputs {
  Tensor query, value, key;
  bool has_key = false;  // the key is a tensor of its own
  Tensor attention_mask = {};
  bool return_attention_scores = false, use_causal_mask = false;
};

namespace detail {

AttentionInputs attention_inputs(Inputs inputs);

/// Keras' position names of the tensors of such a layer, "query", "value", "key".
const std::vector<std::string>& attention_names();

/// The conjunction of all masks of the call, and of the band of a sliding window where that is not 0;
/// undefined where there is none. `causal` says whether use_causal_mask takes part.
Tensor joined_attention_mask(const AttentionInputs& inputs, int64_t sliding_window, bool causal);

/// `mask` with axes of size 1 put in front of the last 2 * `attended` ones (Keras' axis of heads) until it
/// has `rank` axes. As it is where undefined.
Tensor raised_attention_mask(const Tensor& mask, int rank, int attended);

/// Keras' Softmax layer over the last `axes` axes: hidden scores count as -1e9 and their result is 0.
Tensor masked_softmax(const Tensor& scores, const Tensor& mask, int axes);

/// `x` without mask and arguments, which are the attention layer's business and not that of its projections.
Tensor unmasked(const Tensor& x);

}  // namespace detail

/// A handle on a layer that is called with query and value.
class AttentionLayer : public Layer {
 public:
  using Layer::Layer;
  using Layer::operator();
  using Layer::call_all;
  /// The result; with return_attention_scores use call_all(), which gives the scores behind it.
  Tensor operator()(const Tensor& query, const Tensor& value, const AttentionCall& call = {}) const;
  Tensors call_all(const Tensor& query, const Tensor& value, const AttentionCall& call = {}) const;
  /// Inside another layer's call().
  Tensor operator()(Call& c, const Tensor& query, const Tensor& value, const AttentionCall& call = {}) const;
};

}  // namespace nyala

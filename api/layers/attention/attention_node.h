#pragma once

#include <string>

#include <nyala/api/layers/attention/attention_inputs.h>
#include <nyala/api/layers/attention/attention_projection.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

/// What all layers called with query, value and key share: the result has the mask of the query, and in
/// training some of the weights of attention are dropped.
class QueryNode : public SeededNode {
 public:
  bool takes_many() const override { return true; }
  bool supports_masking() const override { return true; }
  bool uses_mask() const override { return true; }
  Tensors compute_mask(Inputs inputs, size_t num_outputs) const override {
    Tensors masks(num_outputs);
    masks[0] = mask_of(inputs[0]);
    return masks;
  }

 protected:
  explicit QueryNode(int64_t seed) : SeededNode(seed, "dropout") {}

  /// Dropout in training, drawn by the global row; else x.
  Tensor weights_after_dropout(Call& c, const Tensor& x, double rate) const {
    return c.training() && rate != 0.0 ? dropped(c, x, rate) : x;
  }
};

/// Those with a projection each for query, key, value and output, and perhaps one for a gate.
template <class Config>
class ProjectedQueryNode : public QueryNode {
 public:
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool takes_named_tensors() const override { return true; }

 protected:
  explicit ProjectedQueryNode(const Config& config) : QueryNode(config.seed), config_(config) {}
  template <size_t N>
  explicit ProjectedQueryNode(const NoSuchField (&)[N]) = delete;

  static void check_count(const Shapes& inputs) {
    if (inputs.size() < 2)
      throw InvalidArgumentError("expected at least a query and a value, received 1 tensor");
  }

  /// Builds the layer `attribute` of files, which takes the last `bound` axes of `input` to axes of `sizes`.
  Layer projection(Builder& b, const std::string& attribute, const std::string& name, const Shape& input,
                   const std::vector<int64_t>& sizes, int bound = 1) {
    const ProjectionEquation equation = detail::projection_equation(input.rank() - bound, bound, sizes);
    EinsumDenseConfig config = detail::projection_config(config_, equation, name);
    config.dtype = dtype_policy().name();
    const EinsumDense dense(config);
    b.build(track(attribute, dense), input);
    return dense;
  }

  /// What the call gives: `attended` through the gate and the last projection, and the scores if asked for.
  Outputs finished(Call& c, const AttentionInputs& in, Tensor attended, const Tensor& scores) const {
    if (config_.use_gate) attended = attended * gate_dense_(c, detail::unmasked(in.query));
    Outputs outputs{output_dense_(c, attended)};
    if (in.return_attention_scores) outputs.push_back(scores);
    return outputs;
  }

  Config config_;
  Layer query_dense_, key_dense_, value_dense_, gate_dense_, output_dense_;
};

}  // namespace nyala

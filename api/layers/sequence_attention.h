#pragma once

#include <nyala/api/layers/attention.h>

namespace nyala {

/// What Attention and AdditiveAttention share: all but their weights and the score.
class SequenceAttentionNode : public LayerNode {
 public:
  /// Throws InvalidArgumentError naming `layer` for a dropout outside [0, 1].
  SequenceAttentionNode(const std::string& layer, double dropout, int64_t seed);

  bool takes_many() const override { return true; }
  bool supports_masking() const override { return true; }
  bool uses_mask() const override { return true; }
  Tensors compute_mask(Inputs inputs, size_t num_outputs) const override;
  uint64_t* random_key() override { return &key_; }

  using LayerNode::build;
  void build(Builder& b, const Shapes& inputs) override;
  using LayerNode::call;
  Outputs call(Call& c, Inputs inputs) const override;

 protected:
  virtual void build_score(Builder& b, const Shape& query) = 0;
  /// (batch, time, size) and (batch, steps, size) -> (batch, time, steps).
  virtual Tensor score(Call& c, const Tensor& query, const Tensor& key) const = 0;
  /// query + key for every pair: (batch, time, steps, size).
  static Tensor sum_of_pairs(const Tensor& query, const Tensor& key);

 private:
  double dropout_;
  uint64_t key_;
};

}  // namespace nyala

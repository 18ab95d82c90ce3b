#pragma once

#include <nyala/api/layers/attention/attention.h>
#include <nyala/api/layers/attention/attention_node.h>

namespace nyala {

/// What Attention and AdditiveAttention share: all but their weights and the score.
class SequenceAttentionNode : public QueryNode {
 public:
  /// Throws InvalidArgumentError naming `layer` for a dropout outside [0, 1].
  SequenceAttentionNode(const std::string& layer, double dropout, int64_t seed);

  void build(Builder& b, const Shapes& inputs) override;
  Outputs call(Call& c, Inputs inputs) const override;

 protected:
  virtual void build_score(Builder& b, const Shape& query) = 0;
  /// (batch, time, size) and (batch, steps, size) -> (batch, time, steps).
  virtual Tensor score(Call& c, const Tensor& query, const Tensor& key) const = 0;
  /// query + key for every pair: (batch, time, steps, size).
  static Tensor sum_of_pairs(const Tensor& query, const Tensor& key);

 private:
  double dropout_;
};

}  // namespace nyala

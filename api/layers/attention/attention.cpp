#include <nyala/api/layers/attention/attention.h>

#include <nyala/api/layers/attention/sequence_attention.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void AttentionConfig::fields(FieldVisitor& v) {
  v.field("use_scale", use_scale);
  v.field("score_mode", score_mode);
  v.field("dropout", dropout);
  v.optional("seed", seed, -1);
}

namespace {

class AttentionNode final : public SequenceAttentionNode {
 public:
  explicit AttentionNode(const AttentionConfig& config)
      : SequenceAttentionNode("Attention", config.dropout, config.seed), config_(config) {
    if (config.score_mode != "dot" && config.score_mode != "concat")
      throw InvalidArgumentError("Attention: expected score_mode 'dot' or 'concat', received " +
                                 in_quotes(config.score_mode));
  }
  std::string class_name() const override { return "Attention"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

 protected:
  void build_score(Builder& b, const Shape&) override {
    if (config_.use_scale) scale_ = b.weight("scale", {}, "ones");
    if (config_.score_mode == "concat") concat_weight_ = b.weight("concat_score_weight", {}, "ones");
  }

  Tensor score(Call& c, const Tensor& query, const Tensor& key) const override {
    if (config_.score_mode == "dot") {
      const Tensor products = ops::matmul(query, key, {false, true});
      return scale_ ? products * c[scale_] : products;
    }
    const Tensor pairs = sum_of_pairs(query, key);
    return c[concat_weight_] * ops::sum(ops::tanh(scale_ ? c[scale_] * pairs : pairs), {-1});
  }

 private:
  AttentionConfig config_;
  Variable scale_, concat_weight_;
};

}  // namespace

Attention::Attention(const Config& config) : SequenceAttention(node_from<AttentionNode>(config)) {}

}  // namespace nyala

#include <nyala/api/layers/attention/additive_attention.h>

#include <nyala/api/layers/attention/sequence_attention.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void AdditiveAttentionConfig::fields(FieldVisitor& v) {
  v.field("use_scale", use_scale);
  v.field("dropout", dropout);
  v.optional("seed", seed, -1);
}

namespace {

class AdditiveAttentionNode final : public SequenceAttentionNode {
 public:
  explicit AdditiveAttentionNode(const AdditiveAttentionConfig& config)
      : SequenceAttentionNode("AdditiveAttention", config.dropout, config.seed), config_(config) {}
  std::string class_name() const override { return "AdditiveAttention"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

 protected:
  void build_score(Builder& b, const Shape& query) override {
    if (config_.use_scale) scale_ = b.weight("scale", {query.back()}, "glorot_uniform");
  }

  Tensor score(Call& c, const Tensor& query, const Tensor& key) const override {
    const Tensor bent = ops::tanh(sum_of_pairs(query, key));
    return ops::sum(scale_ ? c[scale_] * bent : bent, {-1});
  }

 private:
  AdditiveAttentionConfig config_;
  Variable scale_;
};

}  // namespace

AdditiveAttention::AdditiveAttention(const Config& config)
    : SequenceAttention(node_from<AdditiveAttentionNode>(config)) {}

}  // namespace nyala

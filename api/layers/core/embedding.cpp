#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/lora.h>
#include <nyala/api/layers/base/takes_whole_numbers.h>
#include <nyala/api/layers/core/embedding.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/parameters/row_source.h>

namespace nyala {

using namespace nyala::detail;

void EmbeddingConfig::fields(FieldVisitor& v) {
  v.field("input_dim", input_dim);
  v.field("output_dim", output_dim);
  v.field("embeddings_initializer", embeddings_initializer);
  v.field("embeddings_regularizer", embeddings_regularizer);
  v.field("embeddings_constraint", embeddings_constraint);
  v.field("mask_zero", mask_zero);
  visit_lora(v, *this);
}

namespace {

class EmbeddingNode final : public LayerNode, public TakesWholeNumbers, public HasLora {
 public:
  explicit EmbeddingNode(const EmbeddingConfig& config) : config_(config) {
    check_positive("Embedding", "input_dim", config.input_dim);
    check_positive("Embedding", "output_dim", config.output_dim);
  }
  std::string class_name() const override { return "Embedding"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool autocast() const override { return false; }  // of the table only rows are cast
  bool supports_masking() const override { return config_.mask_zero; }
  bool makes_mask() const override { return config_.mask_zero; }
  Tensors compute_mask(Inputs inputs, size_t) const override {
    if (!config_.mask_zero) return {Tensor()};
    return {ops::not_equal(inputs[0], 0.0)};
  }

  void build(Builder& b, const Shape&) override {
    embeddings_ =
        b.weight("embeddings", {config_.input_dim, config_.output_dim}, config_.embeddings_initializer,
                 {config_.embeddings_regularizer, config_.embeddings_constraint, true});
    if (config_.lora_rank > 0) enable_lora(config_.lora_rank, {.lora_alpha = config_.lora_alpha});
  }

  Tensor call(Call& c, const Tensor& x) const override {
    const bool index = x.dtype() == DType::int32 || x.dtype() == DType::int64 || x.dtype() == DType::uint8;
    const Tensor ids = index ? x : ops::cast(x, DType::int64);
    const Tensor rows = take_rows(c, embeddings_, ids);
    if (!lora_.enabled()) return ops::cast(rows, compute_dtype());
    const Tensor adapted = ops::matmul(take_rows(c, lora_.a(), ids), c[lora_.b()]);
    return ops::cast(rows + lora_.scaled(adapted), compute_dtype());
  }

  void enable_lora(int64_t rank, const LoraConfig& config) override {
    lora_.enable(*this, embeddings_, rank, config);
    note_lora(config_, lora_);
  }
  const Lora& lora() const override { return lora_; }
  const Variable& lora_kernel() const override { return embeddings_; }

 private:
  EmbeddingConfig config_;
  Variable embeddings_;
  Lora lora_{"lora_embeddings"};
};

}  // namespace

Embedding::Embedding(const Config& config) : Layer(node_from<EmbeddingNode>(config)) {}

Embedding::Embedding(int64_t input_dim, int64_t output_dim, Config config)
    : Embedding(with(std::move(config), &Config::input_dim, input_dim, &Config::output_dim, output_dim)) {}

}  // namespace nyala

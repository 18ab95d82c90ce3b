#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct EmbeddingConfig {
  int64_t input_dim = 0;
  int64_t output_dim = 0;
  Initializer embeddings_initializer = "uniform";
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;
  int64_t lora_rank = 0;         // above 0: adapted when it is built, see Layer::enable_lora
  double lora_alpha = kNoValue;  // none: lora_rank
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Row i of a table (input_dim, output_dim) for each index i: (batch, ...) -> (batch, ..., output_dim).
/// Floats are cut to int32. With mask_zero index 0 is padding: the output's mask is x != 0. An index outside
/// the table gives NaN and is reported like other bad values (backend/runtime/status_word.h).
class Embedding : public Layer {
 public:
  using Config = EmbeddingConfig;
  /// Throws InvalidArgumentError unless both sizes are above 0.
  explicit Embedding(const Config& config);
  template <size_t N>
  explicit Embedding(const NoSuchField (&)[N]) = delete;
  Embedding(int64_t input_dim, int64_t output_dim, Config config = {});
  template <size_t N>
  Embedding(int64_t, int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

#pragma once

#include <nyala/api/layers/attention/attention.h>

namespace nyala {

struct AdditiveAttentionConfig {
  NamesRequired names_required = NamesRequired();
  bool use_scale = true;
  double dropout = 0.0;
  int64_t seed = -1;  // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Bahdanau's attention: Attention with the score sum(scale * tanh(query + key)), where `scale` is a weight
/// (size) with use_scale, else 1.
class AdditiveAttention : public SequenceAttention {
 public:
  using Config = AdditiveAttentionConfig;
  /// Throws InvalidArgumentError for a dropout outside [0, 1].
  explicit AdditiveAttention(const Config& config = {});
  template <size_t N>
  explicit AdditiveAttention(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

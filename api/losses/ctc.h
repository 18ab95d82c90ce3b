#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct CTCConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "ctc";

  void fields(FieldVisitor& v);
};

/// Connectionist temporal classification (Graves et al., 2006): y_true (batch, labels) holds class numbers
/// from 1, filled up with 0, the class of the blank; y_pred (batch, steps, classes) holds logits. Infinite
/// where labels do not fit into the steps.
class CTC : public Loss {
 public:
  using Config = CTCConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit CTC(const Config& config = {});
  template <size_t N>
  explicit CTC(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct PoissonConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "poisson";

  void fields(FieldVisitor& v);
};

/// mean(y_pred - y_true log(y_pred + 1e-7)) over the last axis.
class Poisson : public Loss {
 public:
  using Config = PoissonConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit Poisson(const Config& config = {});
  template <size_t N>
  explicit Poisson(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

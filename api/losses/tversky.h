#pragma once

#include <vector>

#include <nyala/api/losses/loss.h>

namespace nyala {

struct TverskyConfig {
  double alpha = 0.5;
  double beta = 0.5;
  std::string reduction = "sum_over_batch_size";
  std::string name = "tversky";
  std::vector<int64_t> axis = {};  // empty: all

  void fields(FieldVisitor& v);
};

/// 1 - t / (t + alpha sum(y_true (1 - y_pred)) + beta sum((1 - y_true) y_pred) + 1e-7) with t = sum(y_true
/// y_pred) and sums over `axis` (Salehi et al., 2017). Without axes it is one value for the whole batch;
/// then, as whenever the sums go over the rows, several replicas gather their outputs to compute it.
class Tversky : public Loss {
 public:
  using Config = TverskyConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit Tversky(const Config& config = {});
  template <size_t N>
  explicit Tversky(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

#pragma once

#include <vector>

#include <nyala/api/losses/loss.h>

namespace nyala {

struct DiceConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "dice";
  std::vector<int64_t> axis = {};  // empty: all

  void fields(FieldVisitor& v);
};

/// 1 - 2 sum(y_true y_pred) / (sum(y_true) + sum(y_pred) + 1e-7), with sums over `axis`: a value for each
/// element of the other axes. Without axes it is one value for the whole batch; then, as whenever the sums go
/// over the rows, several replicas gather their outputs to compute it.
class Dice : public Loss {
 public:
  using Config = DiceConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit Dice(const Config& config = {});
  template <size_t N>
  explicit Dice(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

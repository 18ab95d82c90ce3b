#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct LogCoshConfig {
  std::string reduction = "sum_over_batch_size";
  std::string name = "log_cosh";

  void fields(FieldVisitor& v);
};

/// mean(log(cosh(y_pred - y_true))) over the last axis.
class LogCosh : public Loss {
 public:
  using Config = LogCoshConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit LogCosh(const Config& config = {});
  template <size_t N>
  explicit LogCosh(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

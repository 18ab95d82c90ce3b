#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct LogCoshErrorConfig {
  std::string name = "logcosh";

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::LogCosh over samples, by weight.
class LogCoshError : public Metric {
 public:
  using Config = LogCoshErrorConfig;
  explicit LogCoshError(const Config& config = {});
  template <size_t N>
  explicit LogCoshError(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics

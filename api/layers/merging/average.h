#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct AverageConfig {
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// The mean of its inputs, `Average()({a, b, c})`: all but the batch broadcast; where ranks differ, axes
/// of size 1 are put behind the batch.
class Average : public Layer {
 public:
  using Config = AverageConfig;
  explicit Average(const Config& config = {});
  template <size_t N>
  explicit Average(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct MaximumConfig {
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// The largest of its inputs element by element, `Maximum()({a, b, c})`: all but the batch broadcast;
/// where ranks differ, axes of size 1 are put behind the batch. Steps that a mask leaves out do not take
/// part.
class Maximum : public Layer {
 public:
  using Config = MaximumConfig;
  explicit Maximum(const Config& config = {});
  template <size_t N>
  explicit Maximum(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct MinimumConfig {
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// The smallest of its inputs element by element, `Minimum()({a, b, c})`: all but the batch broadcast;
/// where ranks differ, axes of size 1 are put behind the batch. Steps that a mask leaves out do not take
/// part.
class Minimum : public Layer {
 public:
  using Config = MinimumConfig;
  explicit Minimum(const Config& config = {});
  template <size_t N>
  explicit Minimum(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct MultiplyConfig {
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// The product of its inputs, `Multiply()({a, b, c})`: all but the batch broadcast; where ranks differ,
/// axes of size 1 are put behind the batch. A step that its mask leaves out counts as 1, and where all
/// inputs have masks and leave it out, the result is 0.
class Multiply : public Layer {
 public:
  using Config = MultiplyConfig;
  explicit Multiply(const Config& config = {});
  template <size_t N>
  explicit Multiply(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct SubtractConfig {
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// The first of two inputs less the second, `Subtract()({a, b})`: all but the batch broadcast; where ranks
/// differ, axes of size 1 are put behind the batch. Called on another number of inputs it throws
/// InvalidArgumentError.
class Subtract : public Layer {
 public:
  using Config = SubtractConfig;
  explicit Subtract(const Config& config = {});
  template <size_t N>
  explicit Subtract(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

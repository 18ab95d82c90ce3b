#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct AddConfig {
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// The sum of its inputs, `Add()({a, b, c})`: all but the batch broadcast; where ranks differ, axes of
/// size 1 are put behind the batch.
class Add : public Layer {
 public:
  using Config = AddConfig;
  explicit Add(const Config& config = {});
  template <size_t N>
  explicit Add(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

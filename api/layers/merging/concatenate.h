#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct ConcatenateConfig {
  NamesRequired names_required = NamesRequired();
  int64_t axis = -1;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Its inputs one behind the other along `axis`, `Concatenate()({a, b})`. All other sizes are equal.
class Concatenate : public Layer {
 public:
  using Config = ConcatenateConfig;
  explicit Concatenate(const Config& config = {});
  template <size_t N>
  explicit Concatenate(const NoSuchField (&)[N]) = delete;
  explicit Concatenate(int64_t axis, Config config = {});
  template <size_t N>
  explicit Concatenate(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

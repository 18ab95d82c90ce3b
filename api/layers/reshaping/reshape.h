#pragma once

#include <utility>
#include <vector>

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct ReshapeConfig {
  NamesRequired names_required = NamesRequired();
  std::vector<int64_t> target_shape = {};  // without the batch; one size may be -1: what is left
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// The batch stays, the other axes become `target_shape`, row-major: `Reshape({4, 3})`, `Reshape({-1, 2})`.
class Reshape : public Layer {
 public:
  using Config = ReshapeConfig;
  /// Throws InvalidArgumentError for a size below -1 or several of -1.
  explicit Reshape(const Config& config);
  template <int = 0>  // behind the other where g++ takes {.target_shape = ...} for a list
  explicit Reshape(std::vector<int64_t> target_shape, Config config = {})
      : Reshape((config.target_shape = std::move(target_shape), config)) {}
};

}  // namespace nyala

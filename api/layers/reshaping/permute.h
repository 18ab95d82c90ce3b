#pragma once

#include <utility>

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct PermuteConfig {
  NamesRequired names_required = NamesRequired();
  std::vector<int64_t> dims = {};  // Keras has no default
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// The axes behind the batch in another order: axis i of the result is axis dims[i - 1], counted from 1.
class Permute : public Layer {
 public:
  using Config = PermuteConfig;
  /// Throws InvalidArgumentError unless dims names 1, 2, ... up to its size once each.
  explicit Permute(const Config& config);
  template <int = 0>  // behind the other where g++ takes {.dims = ...} for a list
  explicit Permute(std::vector<int64_t> dims, Config config = {})
      : Permute((config.dims = std::move(dims), config)) {}
};

}  // namespace nyala

#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct ELUConfig {
  NamesRequired names_required = NamesRequired();
  double alpha = 1.0;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// x where it is positive, else alpha * (exp(x) - 1).
class ELU : public Layer {
 public:
  using Config = ELUConfig;
  explicit ELU(const Config& config = {});
  template <size_t N>
  explicit ELU(const NoSuchField (&)[N]) = delete;
  explicit ELU(double alpha, Config config = {});
  template <size_t N>
  explicit ELU(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

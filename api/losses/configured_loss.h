#pragma once

#include <utility>

#include <nyala/api/losses/loss.h>

namespace nyala {

/// A loss with the name and reduction of its Config.
template <class Config>
class ConfiguredLoss : public LossNode {
 public:
  explicit ConfiguredLoss(Config config)
      : config_(std::move(config)), reduction_(parse_reduction(config_.reduction)) {}
  std::string name() const override { return config_.name; }
  Reduction reduction() const override { return reduction_; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }

 protected:
  Config config_;

 private:
  Reduction reduction_;
};

/// y_true in the dtype and rank of y_pred, and y_pred, which becomes (n, 1) where it is a vector: each
/// element is a sample of its own.
std::pair<Tensor, Tensor> comparable(const Tensor& y_true, const Tensor& y_pred);

}  // namespace nyala

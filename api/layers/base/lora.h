#pragma once

#include <string>

#include <nyala/api/base/fields.h>
#include <nyala/api/initializers/initializer.h>
#include <nyala/backend/parameters/call.h>
#include <nyala/backend/parameters/variable.h>

namespace nyala {

class LayerNode;

struct LoraConfig {
  double lora_alpha = kNoValue;  // the product is scaled by lora_alpha / rank; none: by 1
  Initializer a_initializer = "he_uniform";
  Initializer b_initializer = "zeros";
};

/// Low-rank adaptation (Hu et al. 2021) of a kernel: kernel + lora_alpha / rank * a . b, where `a` has the
/// kernel's shape but for its last axis, which is `rank`, and `b` is (rank, the kernel's last size). The
/// kernel itself is frozen. `b` begins as zeros, so that nothing changes at first.
class Lora {
 public:
  /// `name` + "_a" and "_b" are the names of the factors.
  explicit Lora(std::string name = "lora_kernel") : name_(std::move(name)) {}

  /// Makes the factors, in the kernel's strategy. Throws InvalidArgumentError for a rank below 1 and for a
  /// kernel with a constraint, StateError where there are factors.
  void enable(LayerNode& node, const Variable& kernel, int64_t rank, const LoraConfig& config);
  bool enabled() const { return rank_ > 0; }
  int64_t rank() const { return rank_; }
  double alpha() const { return alpha_; }
  const Variable& a() const { return a_; }
  const Variable& b() const { return b_; }

  /// The kernel that the layer computes with; the plain one where there are no factors.
  Tensor adapted(Call& c, const Variable& kernel) const;
  /// The same of the values that the variables have, outside of calls.
  Tensor merged(const Variable& kernel) const;
  /// x times lora_alpha / rank.
  Tensor scaled(const Tensor& x) const;

 private:
  std::string name_;
  int64_t rank_ = 0;
  double alpha_ = 0.0;
  Variable a_, b_;
};

/// What the node of a layer that can be adapted derives from, too. Files of weights hold the kernel with the
/// product in it, and no factors, as Keras'.
class HasLora {
 public:
  virtual void enable_lora(int64_t rank, const LoraConfig& config) = 0;
  virtual const Lora& lora() const = 0;
  virtual const Variable& lora_kernel() const = 0;

 protected:
  virtual ~HasLora() = default;
};

namespace detail {

/// Keras' fields lora_rank and lora_alpha, which files have only where they are set.
template <class Config>
void visit_lora(FieldVisitor& v, Config& config) {
  v.when_set("lora_rank", config.lora_rank, 0);
  v.when_set("lora_alpha", config.lora_alpha);
}

/// Notes in a layer's configuration that it is adapted.
template <class Config>
void note_lora(Config& config, const Lora& lora) {
  config.lora_rank = lora.rank();
  config.lora_alpha = lora.alpha();
}

}  // namespace detail

}  // namespace nyala

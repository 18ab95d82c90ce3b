#pragma once

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

struct MuonConfig {
  LearningRate learning_rate = 0.001;
  double adam_beta_1 = 0.9;
  double adam_beta_2 = 0.999;
  double adam_weight_decay = 0.004;
  double epsilon = 1e-7;
  double weight_decay = 0.004;
  double clipnorm = kNoValue;
  double clipvalue = kNoValue;
  double global_clipnorm = kNoValue;
  bool use_ema = false;
  double ema_momentum = 0.99;
  int64_t ema_overwrite_frequency = 0;
  double loss_scale_factor = kNoValue;
  int64_t gradient_accumulation_steps = 0;
  std::string name = {};
  std::vector<std::string> exclude_layers = {};
  bool exclude_embeddings = true;
  double muon_a = 3.4445;
  double muon_b = -4.775;
  double muon_c = 2.0315;
  double adam_lr_ratio = 1.0;
  double momentum = 0.95;
  int64_t ns_steps = 5;
  bool nesterov = true;
  double rms_rate = 0.2;  // none: steps are not scaled

  void fields(FieldVisitor& v);
};

/// Momentum whose step is made orthogonal (Jordan et al., 2024), for weights of rank 2: m = momentum m + g,
/// s = g + momentum m (without nesterov s = m), divided by |s| + 1e-7, then ns_steps times
/// s = muon_a s + (muon_b s s' + muon_c (s s')^2) s, and w -= learning_rate rms_rate sqrt(max(rows, columns))
/// s. Other weights, those with "embedding" in their path and those whose path matches a regular expression
/// of exclude_layers follow Adam with the numbers named adam_. Slots: momentum, velocity (of Adam's).
class Muon : public Optimizer {
 public:
  using Config = MuonConfig;
  /// Throws InvalidArgumentError for a wrong regular expression and options that exclude each other.
  explicit Muon(const Config& config = {});
  template <size_t N>
  explicit Muon(const NoSuchField (&)[N]) = delete;
  explicit Muon(LearningRate learning_rate, Config config = {});
  template <size_t N>
  explicit Muon(LearningRate, const NoSuchField (&)[N]) = delete;
  explicit Muon(double learning_rate) : Muon(LearningRate(learning_rate)) {}
};

}  // namespace nyala

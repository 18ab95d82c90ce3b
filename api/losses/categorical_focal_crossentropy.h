#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/losses/loss.h>

namespace nyala {

/// One factor for all classes, or one for each.
class ClassFactors {
 public:
  ClassFactors(double all) : factors_{all} {}
  ClassFactors(std::initializer_list<double> each) : factors_(each) {}
  ClassFactors(std::vector<double> each) : factors_(std::move(each)) {}
  const std::vector<double>& list() const { return factors_; }

 private:
  std::vector<double> factors_;
};

struct CategoricalFocalCrossentropyConfig {
  ClassFactors alpha = 0.25;
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_focal_crossentropy";

  void fields(FieldVisitor& v);
};

/// Categorical crossentropy in which easy examples count less (Lin et al., 2018): the sum over `axis` of
/// -alpha (1 - p)^gamma y log p. y_pred holds probabilities, divided by their sum and clipped, or logits.
/// label_smoothing as in CategoricalCrossentropy.
class CategoricalFocalCrossentropy : public Loss {
 public:
  using Config = CategoricalFocalCrossentropyConfig;
  /// Throws InvalidArgumentError for an unknown reduction and for an alpha without factors. With one for each
  /// class it throws ShapeError where y_pred has another number of them along its last axis.
  explicit CategoricalFocalCrossentropy(const Config& config = {});
  template <size_t N>
  explicit CategoricalFocalCrossentropy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala

#pragma once

#include <utility>

#include <nyala/api/losses/loss.h>
#include <nyala/backend/core/to_int.h>

namespace nyala {

/// A loss with the name and reduction of its Config.
template <class Config>
class ConfiguredLoss : public LossNode {
 public:
  explicit ConfiguredLoss(Config config)
      : config_(std::move(config)), reduction_(detail::parse_reduction(config_.reduction)) {
    if constexpr (requires { config_.axis + 1; }) detail::to_int(config_.axis, "axis");
    if constexpr (requires { config_.axis.size(); }) detail::to_ints(config_.axis, "axis");
  }
  template <size_t N>
  explicit ConfiguredLoss(const NoSuchField (&)[N]) = delete;
  std::string name() const override { return config_.name; }
  Reduction reduction() const override { return reduction_; }
  bool takes_any_dtype() const override { return true; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }

 protected:
  Config config_;

 private:
  Reduction reduction_;
};

namespace detail {

/// False where values that reduce `axis` of y_true and y_pred may depend on other rows of the batch: axis 0,
/// and one counted from behind that only the rank tells from it. -1 is never the rows', since comparable()
/// gives a vector a second axis.
inline bool is_within_rows(int64_t axis) { return axis > 0 || axis == -1; }

/// For losses, which see whole batches for axis 0 only: throws InvalidArgumentError where there are several
/// replicas and `axis` of a tensor of this rank is that of the rows under another number.
void check_rows_named(int64_t axis, int rank, const char* loss);

}  // namespace detail

/// What the values of a loss depend on: on elements that are compared (LossNode::compares_elements()), on a
/// row as a whole, or on other rows, too (LossNode::rows_are_independent()).
enum class ValuesOf { elements, rows, batch };

/// A loss whose values a function of y_true and y_pred gives.
template <class Config>
std::shared_ptr<const LossNode> make_loss(const char* class_name, const Config& config, Loss::Function values,
                                          ValuesOf values_of = ValuesOf::elements) {
  class Node final : public ConfiguredLoss<Config> {
   public:
    Node(const char* class_name, const Config& config, Loss::Function values, ValuesOf values_of)
        : ConfiguredLoss<Config>(config),
          class_name_(class_name),
          values_(std::move(values)),
          values_of_(values_of) {}
    std::string class_name() const override { return class_name_; }
    Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
      return values_(y_true, y_pred);
    }
    bool rows_are_independent() const override { return values_of_ != ValuesOf::batch; }
    bool compares_elements() const override { return values_of_ == ValuesOf::elements; }

   private:
    const char* class_name_;
    Loss::Function values_;
    ValuesOf values_of_;
  };
  return std::make_shared<Node>(class_name, config, std::move(values), values_of);
}

/// Keras' epsilon.
inline constexpr double kLossEpsilon = 1e-7;

namespace detail {

/// x, at least `minimum`.
Tensor at_least(const Tensor& x, double minimum);

/// y_true in the dtype and rank of y_pred, and y_pred, which becomes (n, 1) where it is a vector: each
/// element is a sample of its own.
std::pair<Tensor, Tensor> comparable(const Tensor& y_true, const Tensor& y_pred);

/// loss.per_sample(); a ShapeError says which loss it was and the shapes that it was given.
Tensor per_sample_of(const LossNode& loss, const Tensor& y_true, const Tensor& y_pred);

}  // namespace detail

}  // namespace nyala

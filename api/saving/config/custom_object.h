#pragma once

#include <concepts>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <nyala/api/base/custom_object.h>
#include <nyala/api/constraints/constraint.h>
#include <nyala/api/initializers/initializer.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/losses/loss.h>
#include <nyala/api/metrics/base/metric.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/base/optimizer.h>
#include <nyala/api/regularizers/regularizer.h>
#include <nyala/api/schedules/learning_rate.h>

namespace nyala {

namespace detail {

/// What `make` gives for the Config of T, filled by the visitor, or for nothing where T has none.
template <class T, class Make>
auto make_from_fields(FieldVisitor& visitor, const Make& make) {
  if constexpr (requires { typename T::Config; }) {
    typename T::Config config;
    if constexpr (requires { config.name = std::string(); }) visitor.field("name", config.name);
    config.fields(visitor);
    static_assert(std::is_constructible_v<T, const typename T::Config&>,
                  "files hold the fields of T::Config: give T a constructor T(const Config&)");
    return make(config);
  } else {
    static_assert(
        std::is_default_constructible_v<T>,
        "files hold the fields of T::Config: give T a Config with `void fields(FieldVisitor&)` and a "
        "constructor T(const Config&), or one without arguments");
    return make();
  }
}

template <class Handle, class T>
ObjectMaker<Handle> object_maker() {
  return [](FieldVisitor& visitor) {
    return make_from_fields<T>(visitor,
                               [](const auto&... config) { return Handle(std::make_shared<T>(config...)); });
  };
}

template <class T>
LayerMaker layer_maker() {
  return [](FieldVisitor& visitor, const LayerOptions& options) {
    const auto node = make_from_fields<T>(visitor, [](const auto&... config) {
      if constexpr (std::derived_from<T, ModelNode>)
        return make_model_node<T>(config...);
      else
        return make_node<T>(config...);
    });
    return Layer(finish_layer(node, options));
  };
}

template <class>
inline constexpr bool kNoKind = false;

/// Whether a Config and a fields() of T's own come together; of other objects than layers a base of Nyala's
/// may have fields().
template <class T, class Base>
constexpr bool config_is_whole() {
  constexpr bool has_config = requires { typename T::Config; };
  return has_config == overrides_fields<T, Base>() || (!has_config && !std::same_as<Base, LayerNode>);
}
template <class T, class Base>
constexpr void check_config() {
  static_assert(
      config_is_whole<T, Base>(),
      "custom_object<T>, register_serializable<T>: a Config and fields() belong together, or files lose "
      "the configuration. Write both `using Config = MyConfig;`, with its own `void fields(FieldVisitor& "
      "v)`, and an override of fields() that calls `config_.fields(v)`");
}

}  // namespace detail

/// What files of one load_model() may name.
using CustomObjects = std::map<std::string, CustomObject>;

/// How an object of a user's class is made again: from its `Config`, if it has one, whose `fields(visitor)`
/// is what files hold; a `name` of a Config comes along by itself. T derives from LayerNode, ModelNode,
/// LossNode, MetricNode, OptimizerNode, LearningRateScheduleNode, InitializerNode, RegularizerNode or
/// ConstraintNode.
template <class T>
CustomObject custom_object() {
  if constexpr (std::derived_from<T, LayerNode>)
    return detail::check_config<T, LayerNode>(), detail::layer_maker<T>();
  else if constexpr (std::derived_from<T, LossNode>)
    return detail::check_config<T, LossNode>(), detail::object_maker<Loss, T>();
  else if constexpr (std::derived_from<T, MetricNode>)
    return detail::check_config<T, MetricNode>(), detail::object_maker<Metric, T>();
  else if constexpr (std::derived_from<T, BaseOptimizer>)
    return detail::check_config<T, BaseOptimizer>(), detail::object_maker<Optimizer, T>();
  else if constexpr (std::derived_from<T, LearningRateScheduleNode>)
    return detail::check_config<T, LearningRateScheduleNode>(), detail::object_maker<LearningRate, T>();
  else if constexpr (std::derived_from<T, InitializerNode>)
    return detail::check_config<T, InitializerNode>(), detail::object_maker<Initializer, T>();
  else if constexpr (std::derived_from<T, RegularizerNode>)
    return detail::check_config<T, RegularizerNode>(), detail::object_maker<Regularizer, T>();
  else if constexpr (std::derived_from<T, ConstraintNode>)
    return detail::check_config<T, ConstraintNode>(), detail::object_maker<Constraint, T>();
  else
    static_assert(detail::kNoKind<T>,
                  "custom_object<T>, register_serializable<T>: T derives from none of LayerNode, ModelNode, "
                  "LossNode, MetricNode, OptimizerNode, LearningRateScheduleNode, InitializerNode, "
                  "RegularizerNode, ConstraintNode");
}

/// Handles on objects of a user's classes: `.loss = make_loss<MyLoss>(MyLossConfig{.alpha = 2})`.
template <class T, class... Arguments>
Loss make_loss(Arguments&&... arguments) {
  return Loss(std::make_shared<T>(std::forward<Arguments>(arguments)...));
}
template <class T, class... Arguments>
Metric make_metric(Arguments&&... arguments) {
  return Metric(std::make_shared<T>(std::forward<Arguments>(arguments)...));
}
template <class T, class... Arguments>
Optimizer make_optimizer(Arguments&&... arguments) {
  return Optimizer(std::make_shared<T>(std::forward<Arguments>(arguments)...));
}
template <class T, class... Arguments>
LearningRate make_schedule(Arguments&&... arguments) {
  return LearningRate(std::make_shared<T>(std::forward<Arguments>(arguments)...));
}
template <class T, class... Arguments>
Initializer make_initializer(Arguments&&... arguments) {
  return Initializer(std::make_shared<T>(std::forward<Arguments>(arguments)...));
}
template <class T, class... Arguments>
Regularizer make_regularizer(Arguments&&... arguments) {
  return Regularizer(std::make_shared<T>(std::forward<Arguments>(arguments)...));
}
template <class T, class... Arguments>
Constraint make_constraint(Arguments&&... arguments) {
  return Constraint(std::make_shared<T>(std::forward<Arguments>(arguments)...));
}

}  // namespace nyala

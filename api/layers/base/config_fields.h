#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <nyala/api/base/fields.h>
#include <nyala/api/layers/base/layer.h>

/// What the configurations of all layers have in common.
namespace nyala::detail {

/// A configuration's fields as a function, for nodes that several classes share.
template <class Config>
std::function<void(FieldVisitor&)> fields_of(Config config) {
  return [config](FieldVisitor& v) mutable { config.fields(v); };
}

template <class Config>
LayerOptions options_of(const Config& config) {
  return {config.name, config.trainable, config.dtype};
}

/// The node `Node` of a configuration, with name, trainable flag and dtype.
template <class Node, class Config>
std::shared_ptr<LayerNode> node_from(const Config& config) {
  return finish_layer(std::make_shared<Node>(config), options_of(config));
}

/// `config` with some members set, each followed by its value: a constructor's positional arguments.
template <class Config, class Member, class Value, class... More>
Config with(Config config, Member Config::*member, Value&& value, More&&... more) {
  config.*member = std::forward<Value>(value);
  if constexpr (sizeof...(More) == 0)
    return config;
  else
    return with(std::move(config), std::forward<More>(more)...);
}

using ShowFields = std::function<void(FieldVisitor&)>;
void copy_shown_fields(const ShowFields& from, const ShowFields& to);

/// Sets the fields of `to` that `from` has, too: of one name and type in what both show to a FieldVisitor.
template <class To, class From>
void copy_fields(To& to, From from) {
  copy_shown_fields([&](FieldVisitor& v) { from.fields(v); }, [&](FieldVisitor& v) { to.fields(v); });
}

/// A configuration of class `To` with the fields of `from`, its trainable flag and its dtype.
template <class To, class From>
To with_fields_of(const From& from, const std::string& name) {
  To to;
  copy_fields(to, from);
  to.name = name;
  to.trainable = from.trainable;
  to.dtype = from.dtype;
  return to;
}

/// The settings of weights that a configuration has, in Keras' order.
template <class Config>
void visit_weights(FieldVisitor& v, Config& c) {
  if constexpr (requires { c.kernel_initializer; }) v.field("kernel_initializer", c.kernel_initializer);
  if constexpr (requires { c.depthwise_initializer; })
    v.field("depthwise_initializer", c.depthwise_initializer);
  if constexpr (requires { c.pointwise_initializer; })
    v.field("pointwise_initializer", c.pointwise_initializer);
  if constexpr (requires { c.recurrent_initializer; })
    v.field("recurrent_initializer", c.recurrent_initializer);
  v.field("bias_initializer", c.bias_initializer);
  if constexpr (requires { c.unit_forget_bias; }) v.field("unit_forget_bias", c.unit_forget_bias);
  if constexpr (requires { c.kernel_regularizer; }) v.field("kernel_regularizer", c.kernel_regularizer);
  if constexpr (requires { c.depthwise_regularizer; })
    v.field("depthwise_regularizer", c.depthwise_regularizer);
  if constexpr (requires { c.pointwise_regularizer; })
    v.field("pointwise_regularizer", c.pointwise_regularizer);
  if constexpr (requires { c.recurrent_regularizer; })
    v.field("recurrent_regularizer", c.recurrent_regularizer);
  v.field("bias_regularizer", c.bias_regularizer);
  if constexpr (requires { c.activity_regularizer; }) v.field("activity_regularizer", c.activity_regularizer);
  if constexpr (requires { c.kernel_constraint; }) v.field("kernel_constraint", c.kernel_constraint);
  if constexpr (requires { c.depthwise_constraint; }) v.field("depthwise_constraint", c.depthwise_constraint);
  if constexpr (requires { c.pointwise_constraint; }) v.field("pointwise_constraint", c.pointwise_constraint);
  if constexpr (requires { c.recurrent_constraint; }) v.field("recurrent_constraint", c.recurrent_constraint);
  v.field("bias_constraint", c.bias_constraint);
}

/// The same behind the activations and use_bias.
template <class Config>
void visit_activation_and_weights(FieldVisitor& v, Config& c) {
  v.field("activation", c.activation);
  if constexpr (requires { c.recurrent_activation; }) v.field("recurrent_activation", c.recurrent_activation);
  v.field("use_bias", c.use_bias);
  visit_weights(v, c);
}

}  // namespace nyala::detail

#pragma once

#include <string>

#include <nyala/api/constraints/constraint.h>
#include <nyala/api/initializers/initializer.h>
#include <nyala/api/regularizers/regularizer.h>
#include <nyala/backend/parameters/variable.h>

namespace nyala {

class Layer;
class LayerNode;
class WeightSource;

/// What a weight has besides name, shape and initializer.
struct WeightOptions {
  Regularizer regularizer = {};
  Constraint constraint = {};
  /// The layer reads it by detail::take_rows alone: a strategy may keep it elsewhere.
  bool by_rows = false;
  /// Whether the layer's call reads it in the dtype that it computes in (Keras' argument of add_weight).
  bool autocast = true;
};

/// Given to LayerNode::build: makes the layer's variables in the strategy whose scope is open.
class Builder {
 public:
  /// First values come from `source`, or from the initializers where there is none.
  explicit Builder(LayerNode& node, WeightSource* source = nullptr) : node_(node), source_(source) {}

  /// A trainable weight named `name`.
  Variable weight(const std::string& name, const Shape& shape, const Initializer& initializer,
                  const WeightOptions& options = {});
  /// State that no optimizer changes; written by Call::assign. Call reads it in its own dtype also where the
  /// layer computes in 16 bits, in which what counts or is a moving mean would soon stand still.
  Variable state(const std::string& name, const Shape& shape, const Initializer& initializer,
                 Aggregation aggregation = Aggregation::only_first_replica);
  /// State that is neither listed among the layer's weights nor saved; zeros at first.
  Variable hidden_state(const std::string& name, const Shape& shape, Aggregation aggregation);
  /// Builds a layer that this one holds.
  void build(const Layer& layer, const Shapes& inputs);
  void build(const Layer& layer, const Shape& input) { build(layer, Shapes{input}); }

 private:
  Variable make(const std::string& name, const Shape& shape, const Initializer& initializer, bool trainable,
                Aggregation aggregation, const WeightOptions& options = {});
  LayerNode& node_;
  WeightSource* source_;
};

}  // namespace nyala

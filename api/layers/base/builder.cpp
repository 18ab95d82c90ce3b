#include <nyala/api/layers/base/builder.h>

#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/weight_source.h>
#include <nyala/backend/core/error.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

using namespace nyala::detail;

Variable Builder::make(const std::string& name, const Shape& shape, const Initializer& initializer,
                       bool trainable, Aggregation aggregation, const Constraint& constraint) {
  if (!shape.is_known())
    throw ShapeError("weight " + in_quotes(name) + " would have shape " + shape.to_string() +
                     "; all its sizes must be known");
  if (source_) source_->allow(name, shape, node_.dtype());
  VariableSpec spec;
  spec.name = name;
  spec.path = node_.path() + "/" + name;
  spec.shape = shape;
  spec.dtype = node_.dtype();
  spec.trainable = trainable;
  spec.synchronization = trainable ? Synchronization::on_write : Synchronization::on_read;
  spec.aggregation = aggregation;
  spec.initialize = [this, &initializer](const Tensor& value) {
    if (source_)
      source_->fill(initializer, value);
    else
      initializer(value);
  };
  if (constraint) spec.constraint = constraint;
  VariableCreator* creator = context_of_open_scopes().creator;
  Variable variable = creator ? creator->create(spec) : current_strategy()->store().create(spec);
  variable.node().spec.initialize = nullptr;
  return variable;
}

Variable Builder::weight(const std::string& name, const Shape& shape, const Initializer& initializer,
                         const WeightOptions& options) {
  Variable variable = make(name, shape, initializer, true, Aggregation::mean, options.constraint);
  node_.weights_.push_back(variable);
  if (options.regularizer) node_.regularized_.push_back({variable, options.regularizer});
  return variable;
}

Variable Builder::state(const std::string& name, const Shape& shape, const Initializer& initializer,
                        Aggregation aggregation) {
  Variable variable = make(name, shape, initializer, false, aggregation);
  node_.state_.push_back(variable);
  return variable;
}

Variable Builder::hidden_state(const std::string& name, const Shape& shape, Aggregation aggregation) {
  return make(name, shape, "zeros", false, aggregation);
}

void Builder::build(const Layer& layer, const Shapes& inputs) { layer.node().ensure_built(inputs); }

}  // namespace nyala

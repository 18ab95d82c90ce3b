#include <nyala/api/layers/base/builder.h>

#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/row_initializer.h>
#include <nyala/api/layers/base/weight_source.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/parameters/row_source.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// As Initializer draws the whole.
RowSource::First first_rows(const Initializer& initializer, const WeightOptions& options) {
  if (options.regularizer)
    throw InvalidArgumentError(
        "a table that lies on parameter servers cannot have a regularizer, which needs it as a whole; leave "
        "it out");
  const int64_t seed = initializer.node().seed();
  return {text_of_row_initializer(initializer),
          seed >= 0 ? mix_key(static_cast<uint64_t>(seed), "initializer") : next_unseeded_key()};
}

}  // namespace

Variable Builder::make(const std::string& name, const Shape& shape, const Initializer& initializer,
                       bool trainable, Aggregation aggregation, const WeightOptions& options) {
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
  if (options.by_rows)
    spec.initialize = InitializeRows{std::move(spec.initialize),
                                     [&initializer, &options] { return first_rows(initializer, options); }};
  if (options.constraint) spec.constraint = options.constraint;
  spec.autocast = options.autocast;
  VariableCreator* creator = context_of_open_scopes().creator;
  Variable variable = creator ? creator->create(spec) : current_strategy()->store().create(spec);
  variable.node().spec.initialize = nullptr;
  return variable;
}

Variable Builder::weight(const std::string& name, const Shape& shape, const Initializer& initializer,
                         const WeightOptions& options) {
  Variable variable = make(name, shape, initializer, true, Aggregation::mean, options);
  node_.weights_.push_back(variable);
  if (options.regularizer) node_.regularized_.push_back({variable, options.regularizer});
  return variable;
}

Variable Builder::state(const std::string& name, const Shape& shape, const Initializer& initializer,
                        Aggregation aggregation) {
  Variable variable = make(name, shape, initializer, false, aggregation, {.autocast = false});
  node_.state_.push_back(variable);
  return variable;
}

Variable Builder::hidden_state(const std::string& name, const Shape& shape, Aggregation aggregation) {
  Variable variable = make(name, shape, "zeros", false, aggregation, {.autocast = false});
  node_.hidden_.push_back(variable);
  return variable;
}

void Builder::build(const Layer& layer, const Shapes& inputs) { layer.node().ensure_built(inputs); }

}  // namespace nyala

#include <string>

#include <nyala/api/training/model_use.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;

// It stands here because it keeps out those who use a model that holds the layer.
void Layer::set_weights(const Tensors& values) const {
  const ExclusiveUse alone(node(), "set_weights");
  const std::string place = "layer " + in_quotes(name()) + " (" + class_name() + "): ";
  const Variables variables = weights();
  if (values.size() != variables.size())
    throw ShapeError(place + "set_weights expected " + std::to_string(variables.size()) +
                     " tensors, received " + std::to_string(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].shape() != variables[i].shape())
      throw ShapeError(place + "set_weights: weight " + in_quotes(variables[i].path()) +
                       " has shape " + variables[i].shape().to_string() + ", received " +
                       values[i].shape().to_string());
  for (size_t i = 0; i < values.size(); ++i)
    variables[i].assign(ops::cast(values[i].detached(), variables[i].dtype()));
}

}  // namespace nyala

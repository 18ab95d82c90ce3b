#pragma once

#include <string>

#include <nyala/api/model/model.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {

/// A model from a description (areas/models.py says how they look).
Model make_model_of(const Json& description, const std::string& name = "model");

/// What compile takes, from Keras' arguments.
CompileConfig make_compile_config(const Json& arguments, const Json& description);

/// Sets the model's weights from a list in Keras' order; names must be those of the list.
void set_initial_weights(const Model& model, const Json& weights);

/// The model's weights against a list in Keras' order.
void expect_weights(const Model& model, const Json& expected, const std::string& what,
                    const Tolerance& tolerance);

/// The optimizer's state against Keras' optimizer.variables: names, dtypes, values.
void expect_optimizer_state(const Optimizer& optimizer, const Json& expected, const std::string& what,
                            const Tolerance& tolerance);

}  // namespace nyala::golden

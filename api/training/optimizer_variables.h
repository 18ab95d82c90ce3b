#pragma once

#include <nyala/backend/parameters/variable.h>

namespace nyala {

class ModelNode;
class ParameterStore;
struct CompiledTraining;

/// Gives the optimizer the model's trainable variables; the model is built and compiled.
void build_optimizer(ModelNode& model);
/// Those that are trained, but not here: tables on parameter servers.
Variables trained_tables(const Variables& variables);
/// Which variables the optimizer of compile() updates, and which tables a strategy does, by leaf key: at once
/// and whenever they have moved.
void find_trained(CompiledTraining& compiled, const ParameterStore& store);
/// For a model that was trained before: where layers came or went or variables moved since, the optimizer
/// follows. Throws StateError where it was built for another model since, and for a trainable layer that was
/// added since, which it does not know.
void follow_variables(ModelNode& model);

}  // namespace nyala

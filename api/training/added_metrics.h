#pragma once

namespace nyala {

class Call;
class ModelNode;

/// Counts what layers gave to `call` by add_metric() since the last time in this step. A name that was not
/// there when the model was built throws StateError, but in a model with a train_step() of its own, which may
/// call layers that its call() does not: there the value goes into the logs as that of the last step.
void count_added_metrics(const ModelNode& model, const Call& call);

}  // namespace nyala

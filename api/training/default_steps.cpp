#include <nyala/api/model/model_node.h>
#include <nyala/api/training/replica_step.h>
#include <nyala/api/utils/gradient_tape.h>

namespace nyala {

Tensor ModelNode::compute_loss(ReplicaStep& step, const Batch& batch, const Tensors& predictions) {
  return step.compiled_loss(batch, predictions);
}

void ModelNode::compute_metrics(ReplicaStep& step, const Batch& batch, const Tensors& predictions) {
  step.update_compiled_metrics(batch, predictions);
}

void ModelNode::train_step(ReplicaStep& step, const Batch& batch) {
  GradientTape tape;
  const Tensors predictions = step.forward(batch.x);
  const Tensor loss = step.compute_loss(batch, predictions);
  step.track_loss(loss);
  step.compute_metrics(batch, predictions);
  step.apply_gradients(tape.gradient(loss, step.trainable_variables()));
}

void ModelNode::test_step(ReplicaStep& step, const Batch& batch) {
  const Tensors predictions = step.forward(batch.x);
  step.track_loss(step.compute_loss(batch, predictions));
  step.compute_metrics(batch, predictions);
}

Tensors ModelNode::predict_step(ReplicaStep& step, const Batch& batch) { return step.forward(batch.x); }

}  // namespace nyala

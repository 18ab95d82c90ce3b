#include <nyala/api/training/model_training.h>

#include <nyala/api/model/model_node.h>

namespace nyala {

CompiledTraining& ModelNode::compiled_training() const { return training_->compiled; }

EpochSums& ModelNode::epoch_sums() const { return training_->sums; }

StepMemory& ModelNode::step_memory() const { return training_->memory; }

ResumePoint& ModelNode::resume_point() const { return training_->resume; }

}  // namespace nyala

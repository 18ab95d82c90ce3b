#pragma once

#include <nyala/api/training/state/compiled_training.h>
#include <nyala/api/training/state/epoch_sums.h>
#include <nyala/api/training/state/resume_point.h>
#include <nyala/api/training/state/step_memory.h>

namespace nyala {

/// What a model keeps from compile() on. Who works on a part of it asks the model for that part.
struct ModelTraining {
  CompiledTraining compiled;
  EpochSums sums;
  StepMemory memory;
  ResumePoint resume;
};

}  // namespace nyala

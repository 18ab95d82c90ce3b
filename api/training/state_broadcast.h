#pragma once

#include <nyala/api/training/state/training_state.h>
#include <nyala/strategies/process_generations.h>

namespace nyala {

/// `state` of `root` in all processes, which all call it.
void broadcast_state(ProcessGenerations& generations, int root, TrainingState& state);

}  // namespace nyala

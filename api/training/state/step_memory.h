#pragma once

#include <memory>
#include <vector>

#include <nyala/backend/core/tape.h>
#include <nyala/backend/parameters/call.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala {

/// What one step leaves to the next, which then allocates nothing: one of each per replica.
struct StepMemory {
  std::vector<Call> calls;
  std::vector<Tensor> steps;  // device scalars
  std::vector<std::shared_ptr<Tape>> tapes;
  std::vector<std::vector<bool>> connected;  // by leaf key: which variables the step's loss led to
  std::vector<size_t> counted_metrics;       // how many of the call's added metrics this step has counted
  /// What kernels of training steps reported; fit clears it when it begins.
  StatusWords status;
};

}  // namespace nyala

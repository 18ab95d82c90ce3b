#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <nyala/backend/parameters/call.h>

namespace nyala {

/// One of several parts of a pass that run at the same time, each on its device and its own thread.
struct Branch {
  Device device;
  /// Threads that compute for it.
  int threads = 1;
  /// What it reads and was computed before; on any device, perhaps tracked by the pass' tape.
  Tensors inputs = {};
  /// Computes on `tape` (null: nothing is recorded) from `inputs`, tracked by that tape. Returns the outputs
  /// and, behind them, the losses of `add_loss`.
  std::function<Tensors(Tape* tape, const Tensors& inputs)> run;
};

/// ops::seen_from with the mask of `x`.
Tensor seen_with_mask(const Tensor& x, Device device);

/// Runs the branches at the same time and returns what each returned, tracked by `tape` where it depends on
/// something that is. Each branch records on a tape of its own; the given one holds a single entry for all,
/// whose gradient walks those tapes, again at the same time. Gradients of what several branches share are
/// added in a fixed order, the last branch first, as a pass on one device would.
std::vector<Tensors> run_branches(Tape* tape, const std::vector<Branch>& branches);

}  // namespace nyala

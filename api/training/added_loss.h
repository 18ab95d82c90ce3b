#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala {

class Call;

/// A loss of Call::add_loss() as it counts: on a replica without rows it is a mean over nothing, and 0.
Tensor added_loss(const Call& call, const Tensor& loss);

}  // namespace nyala

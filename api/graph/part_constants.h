#pragma once

#include <nyala/api/graph/graph_step.h>

namespace nyala::detail {

/// The inputs of an op that runs on one replica's part of the batch (`of`), `whole` with its constants as the
/// graph has them: of constants that have the batch's rows, those of the part. Which these are is found by
/// shape: the step's result on the part is to be its result on the whole batch but for the number of rows.
/// Throws ShapeError naming the op where no choice makes it so, and what it throws for the whole batch.
Tensors inputs_of_part(const CallOptions& of, const GraphStep& step, Tensors whole);

}  // namespace nyala::detail

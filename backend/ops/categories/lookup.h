#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

struct LookupDescriptor {
  /// What a number gives that is not among the keys.
  int64_t missing = -1;
  /// Such a number is reported to the status word (backend/runtime/status_word.h), too.
  bool is_required = false;
};

/// values[i] where x is keys[i], element by element: int64, in the shape of x. Keys (one axis, ascending) and
/// values (as many) are int64; x holds whole numbers. Not differentiable. Throws ShapeError or DTypeError
/// where they do not fit.
Tensor lookup(const Tensor& x, const Tensor& keys, const Tensor& values,
              const LookupDescriptor& descriptor = {});

/// Inputs (x, keys, values), all of int64.
extern const OpDef kLookup;

}  // namespace nyala::ops

"""Arithmetic of two tensors, with promotion and broadcasting."""

import numpy as np
from keras import ops

from .op_values import case

INTEGERS = np.array([[3, -2, 5]], dtype="int32")

CASES = [
    case("add of a row", ops.add, lambda r: r.normal(2, 3), lambda r: r.normal(3)),
    case("multiply by integers", ops.multiply, lambda r: r.normal(2, 3), INTEGERS),
    case("divide integers", ops.divide, INTEGERS, np.array([2, 4, -8], dtype="int32"), gradient=False),
    case("maximum", ops.maximum, lambda r: r.normal(2, 3), lambda r: r.normal(2, 3)),
    case("split", lambda x: ops.split(x, 2, axis=1), lambda r: r.normal(3, 4)),
]

"""Decompositions, systems of equations, determinants, norms and distances."""

import numpy as np
from keras import ops

from .op_values import case

INFINITY = float("inf")
ROUNDED = (3e-6, 3e-5)  # TensorFlow computes in float32, we in float64
DERIVED = (2e-5, 2e-4)  # and gradients divide by distances of eigenvalues


def definite(*batch, size=3):
    """Symmetric positive definite matrices."""

    def draw(r):
        x = r.normal(*batch, size, size).astype("float64")
        return (x @ np.swapaxes(x, -1, -2) + size * np.eye(size)).astype("float32")

    return draw


def regular(*batch, size=3):
    """Matrices far from singular ones."""
    return lambda r: (r.normal(*batch, size, size) + 4 * np.eye(size)).astype("float32")


def apart(rows, columns, *batch):
    """Matrices whose singular values are 1, 2, 3 ..."""

    def draw(r):
        u, _, vh = np.linalg.svd(r.normal(*batch, rows, columns).astype("float64"), full_matrices=False)
        s = np.arange(min(rows, columns), 0, -1.0)
        return ((u * s) @ vh).astype("float32")

    return draw


def symmetric(*batch, size=3):
    """Symmetric matrices whose eigenvalues are 1, 2, 3 ..."""

    def draw(r):
        q, _ = np.linalg.qr(r.normal(*batch, size, size).astype("float64"))
        return ((q * np.arange(1.0, size + 1)) @ np.swapaxes(q, -1, -2)).astype("float32")

    return draw


def products(x, full):
    """What does not depend on the signs of singular vectors."""
    u, s, vh = ops.svd(x, full_matrices=full)
    size = s.shape[-1]
    return [ops.matmul(u[..., :size] * ops.sqrt(s)[..., None, :], vh[..., :size, :]), s, ops.square(u), ops.square(vh)]


def squares(x):
    values, vectors = ops.eigh(x)
    return [
        values,
        ops.square(vectors),
        ops.matmul(vectors * ops.exp(values)[..., None, :], ops.swapaxes(vectors, -1, -2)),
    ]


def directional(a, b, of_a, of_b):
    results, tangents = ops.jvp(lambda a, b: (ops.matmul(ops.sin(a), b), ops.square(a)), (a, b), (of_a, of_b))
    return [*results, *tangents]


SINGULAR = np.array([[1, 2], [2, 4]], dtype="float32")
NEEDS_PIVOTS = np.array([[0, 2, 1], [3, 1, 5], [6, 4, 0.5]], dtype="float32")
INTEGERS = np.array([[3, -4, 0], [0, 0, 2]], dtype="int32")
BOTH = dict(tolerance=ROUNDED)
GIVEN = dict(tolerance=DERIVED)

CASES = [
    case("cholesky", ops.cholesky, definite(2), **BOTH),
    case("cholesky upper", lambda x: ops.cholesky(x, upper=True), definite(), **BOTH),
    # Keras takes the factor, and reads one triangle.
    case("cholesky_inverse", ops.cholesky_inverse, regular(2), **BOTH),
    case("cholesky_inverse upper", lambda x: ops.cholesky_inverse(x, upper=True), regular(), **BOTH),
    case("logdet", ops.logdet, definite(2), **BOTH),
    case("logdet of what is not definite", ops.logdet, -np.eye(2, dtype="float32")[None], gradient=False),
    case("det", ops.det, regular(2, 2), tolerance=(1e-4, 3e-5)),
    case("det of a singular matrix", ops.det, SINGULAR, gradient=False),
    case("slogdet", ops.slogdet, lambda r: r.normal(3, 3, 3) + np.diag([3.0, -3.0, 3.0]).astype("float32"), **BOTH),
    case("slogdet of a singular matrix", ops.slogdet, SINGULAR, gradient=False),
    case("inv", ops.inv, regular(2), **BOTH),
    case("solve of matrices", ops.solve, regular(2), lambda r: r.normal(2, 3, 4), **BOTH),
    case("solve of vectors", ops.solve, regular(2), lambda r: r.normal(2, 3), **BOTH),
    case("solve_triangular", ops.solve_triangular, regular(2), lambda r: r.normal(2, 3, 2), **BOTH),
    case(
        "solve_triangular lower",
        lambda a, b: ops.solve_triangular(a, b, lower=True),
        regular(2),
        lambda r: r.normal(2, 3),
        **BOTH,
    ),
    case("solve_triangular of one for all", ops.solve_triangular, regular(1), lambda r: r.normal(2, 3, 2), **BOTH),
    case("lu_factor", ops.lu_factor, NEEDS_PIVOTS, gradient=False, **BOTH),  # TensorFlow has none
    case("lu_factor of another", ops.lu_factor, lambda r: r.normal(4, 4), gradient=False, **BOTH),
    case("eigh", squares, symmetric(2), **GIVEN),
    case("eigh as it is", ops.eigh, np.array([[2, 1], [1, 3]], dtype="float32"), gradient=False, **BOTH),
    case("eigh of equal values", lambda x: ops.eigh(x)[0], np.eye(3, dtype="float32"), **BOTH),
    case("qr of tall", ops.qr, regular(2, size=4), **GIVEN),
    case("qr of rows", ops.qr, lambda r: r.normal(2, 5, 3), **GIVEN),
    case("qr of columns", ops.qr, lambda r: regular(2)(r)[..., :2, :], **GIVEN),
    case(
        "qr complete of rows", lambda x: ops.qr(x, mode="complete"), lambda r: r.normal(4, 2), gradient=False, **BOTH
    ),  # TensorFlow has none
    case("qr complete of columns", lambda x: ops.qr(x, mode="complete"), lambda r: regular()(r)[:2, :], **GIVEN),
    case("qr of nothing", ops.qr, np.zeros((3, 0), dtype="float32"), gradient=False, model=False),
    case("svd of rows", lambda x: products(x, False), apart(4, 2, 2), model=False, **GIVEN),
    case("svd of columns", lambda x: products(x, False), apart(2, 3), model=False, **GIVEN),
    case("svd of squares", lambda x: products(x, True), apart(3, 3), model=False, **GIVEN),
    case("svd full, one more row", lambda x: products(x, True), apart(3, 2, 2), model=False, **GIVEN),
    case("svd full, one more column", lambda x: products(x, True), apart(2, 3), model=False, **GIVEN),
    case("svd as it is", ops.svd, np.array([[3, 1, 0], [1, 2, 1]], dtype="float32"), gradient=False, **BOTH),
    case(
        "svd thin as it is",
        lambda x: ops.svd(x, full_matrices=False),
        np.array([[3, 1, 0], [1, 2, 1]], dtype="float32"),
        gradient=False,
        **BOTH,
    ),
    case("svd without vectors", lambda x: ops.svd(x, compute_uv=False), apart(4, 2, 2), **GIVEN),
    case("svd of nothing", ops.svd, np.zeros((3, 0), dtype="float32"), gradient=False, model=False),
    case("pinv of rows", ops.pinv, apart(4, 2, 2), **GIVEN),
    case("pinv of columns", ops.pinv, apart(2, 3), **GIVEN),
    case("pinv of a singular matrix", ops.pinv, SINGULAR, gradient=False, **BOTH),
    case("pinv with rcond", lambda x: ops.pinv(x, rcond=0.5), apart(3, 3), **GIVEN),
    case(
        "matrix_rank", ops.matrix_rank, np.stack([SINGULAR, np.eye(2, dtype="float32"), 0 * SINGULAR]), gradient=False
    ),
    case("matrix_rank with tol", lambda x: ops.matrix_rank(x, tol=2.5), apart(4, 3), gradient=False),
    case("lstsq", ops.lstsq, apart(4, 3), lambda r: r.normal(4, 2), **GIVEN),
    case("lstsq of a vector", ops.lstsq, apart(2, 3), lambda r: r.normal(2), **GIVEN),
    case("lstsq with rcond", lambda a, b: ops.lstsq(a, b, rcond=0.5), apart(4, 3), lambda r: r.normal(4), **GIVEN),
    case(
        "lstsq with rcond below 0",
        lambda a, b: ops.lstsq(a, b, rcond=-1.0),
        apart(3, 3),
        lambda r: r.normal(3),
        **GIVEN,
    ),
    case("norm of a vector", ops.norm, lambda r: r.normal(7)),
    case("norm of a matrix", ops.norm, lambda r: r.normal(3, 4)),
    case("norm of integers", lambda x: ops.norm(x, axis=1), INTEGERS),
    case("norm of zeros", ops.norm, np.zeros((3,), dtype="float32")),
    # Keras writes Infinity, which JSON lacks: the twin reads it.
    *[
        case(
            f"norm {order} of vectors",
            lambda x, o=order: ops.norm(x, ord=o, axis=-1, keepdims=o == 3),
            lambda r: r.normal(2, 3, 4),
            model=abs(order) != INFINITY,
        )
        for order in (0, 1, 2, 3, -2, 2.5, INFINITY, -INFINITY)
    ],
    *[
        case(
            f"norm {order} of matrices",
            lambda x, o=order: ops.norm(x, ord=o, axis=(0, 2), keepdims=o == 1),
            apart(3, 2, 2),
            model=order not in (INFINITY, -INFINITY),
            **GIVEN,
        )
        for order in ("fro", "nuc", 1, -1, 2, -2, INFINITY, -INFINITY)
    ],
    case("norm of columns and rows", lambda x: ops.norm(x, ord=1, axis=(-1, 0)), lambda r: r.normal(2, 3, 4)),
    case(
        "norm nuc, axes kept",
        lambda x: ops.norm(x, ord="nuc", axis=(0, 1), keepdims=True),
        lambda r: r.normal(2, 3, 2),
        **GIVEN,
    ),
    # A function is no value of a file.
    case(
        "jvp",
        directional,
        lambda r: r.normal(2, 3),
        lambda r: r.normal(3, 2),
        lambda r: r.normal(2, 3),
        lambda r: r.normal(3, 2),
        gradient=False,
        model=False,
    ),
    case("cdist", ops.cdist, lambda r: r.normal(3, 2), lambda r: r.normal(4, 2)),
    case("cdist of batches", ops.cdist, lambda r: r.normal(2, 3, 2), lambda r: r.normal(2, 1, 2)),
    case(
        "cdist of one for all", ops.cdist, lambda r: r.normal(2, 3, 2), lambda r: r.normal(1, 2, 2), model=False
    ),  # Keras' shape rule adds a tuple to a list
    case("cdist of equal points", ops.cdist, np.ones((1, 2), dtype="float32"), np.ones((2, 2), dtype="float32")),
]

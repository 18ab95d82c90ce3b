"""Fourier transforms, whole and of short sequences."""

import numpy as np
from keras import ops

from .op_values import case

ROUNDED = dict(tolerance=(1e-5, 1e-5))  # TensorFlow computes in float32
SIGNAL = lambda r: r.normal(2, 12)  # noqa: E731
WINDOW = np.array([0.5, 1, 2, 1.5], dtype="float32")


def pair(*shape):
    """The shapes of real and imaginary parts."""
    return [lambda r: r.normal(*shape)] * 2


def both(function):
    return lambda real, imag: function((real, imag))


def there_and_back(window, center):
    def function(x):
        y = ops.stft(x, 4, 2, 6, window=window, center=center)
        return ops.istft(y, 4, 2, 6, window=window, center=center)

    return function


CASES = [
    *[case(f"fft of {n}", both(ops.fft), *pair(2, n), **ROUNDED) for n in (1, 2, 3, 4, 5, 6, 8, 12, 15, 16, 37)],
    case("fft of one axis", both(ops.fft), *pair(7), **ROUNDED),
    case("fft of nothing", both(ops.fft), *pair(2, 0), model=False),
    case("fft2", both(ops.fft2), *pair(2, 3, 4), **ROUNDED),
    case("ifft2", both(ops.ifft2), *pair(2, 3, 4), **ROUNDED),
    *[case(f"rfft of {n}", ops.rfft, lambda r, n=n: r.normal(2, n), **ROUNDED) for n in (1, 2, 5, 8, 9)],
    # TensorFlow's gradient takes no other length than the axis has.
    *[
        case(
            f"rfft with length {n}",
            lambda x, n=n: ops.rfft(x, fft_length=n),
            lambda r: r.normal(2, 6),
            gradient=n == 6,
            **ROUNDED,
        )
        for n in (1, 3, 4, 6, 9, 10)
    ],
    *[case(f"irfft of {n}", both(ops.irfft), *pair(2, n), **ROUNDED) for n in (2, 3, 5)],
    *[
        case(
            f"irfft with length {n}",
            both(lambda x, n=n: ops.irfft(x, fft_length=n)),
            *pair(2, 4),
            gradient=n in (6, 7),
            **ROUNDED,
        )
        for n in (1, 2, 3, 6, 7, 8, 11)
    ],
    case("stft", lambda x: ops.stft(x, 4, 2, 8), SIGNAL, **ROUNDED),
    case("stft hamming", lambda x: ops.stft(x, 5, 3, 5, window="hamming"), SIGNAL, **ROUNDED),
    case("stft of one number", lambda x: ops.stft(x, 1, 1, 2, center=False), SIGNAL, **ROUNDED),
    case("stft without a window", lambda x: ops.stft(x, 3, 4, 6, window=None, center=False), SIGNAL, **ROUNDED),
    # Keras does not write such a window.
    case("stft with a window", lambda x: ops.stft(x, 4, 2, 7, window=WINDOW), SIGNAL, model=False, **ROUNDED),
    case("istft", both(lambda x: ops.istft(x, 4, 2, 8)), *pair(2, 5, 5), **ROUNDED),
    case("istft with a length", both(lambda x: ops.istft(x, 4, 3, 4, length=5)), *pair(2, 3, 3), **ROUNDED),
    case("istft, not centered", both(lambda x: ops.istft(x, 5, 2, 6, center=False)), *pair(2, 3, 4), **ROUNDED),
    case("istft without a window", both(lambda x: ops.istft(x, 4, 3, 4, window=None)), *pair(2, 3, 3), **ROUNDED),
    case("istft with gaps", both(lambda x: ops.istft(x, 2, 3, 2, center=False)), *pair(2, 3, 2), **ROUNDED),
    case(
        "istft with a window", both(lambda x: ops.istft(x, 4, 2, 6, window=WINDOW)), *pair(3, 4), model=False, **ROUNDED
    ),
    case("stft and istft", there_and_back("hann", True), SIGNAL, **ROUNDED),
    case("stft and istft hamming", there_and_back("hamming", False), SIGNAL, **ROUNDED),
]

"""A prefix-free code of numbers: rounded values, and how many bits each way of writing them down takes."""

from __future__ import annotations

from math import floor, lgamma, log, log2

import numpy as np

MANTISSA = 8  # bits of a single number, such as a bandwidth that is not learned: half a percent
ALIKE = 2.0**-4  # spread of a block over its largest value that is resolved at least, where all values are alike


def bits_of_integer(k: int) -> int:
    """Return the length of an integer in the Elias gamma code of 1, 2, 3, ... for 0, -1, 1, -2, 2, ..."""
    place = 2 * k + 1 if k >= 0 else -2 * k
    return 2 * floor(log2(place)) + 1


def bits_of_choice(n: int, k: int) -> float:
    """Return the length of a number k and of k places among n: that of k, and log2 of n over k."""
    return bits_of_integer(k) + (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2)


def rounded(values: np.ndarray, bits: int) -> tuple[np.ndarray, float]:
    """Return values rounded to (offset + m) 2^e with m of ``bits`` bits, and the length of all of them.

    The exponent e, the least at which all values fit, and the offset are integers of the code. Values that are zero are
    kept so, and left out of the m, if telling their places takes fewer bits; one bit says which way was taken.
    """
    if values.size == 0:
        return values.copy(), 0.0
    dense, length = _rounded_densely(values, bits)
    where = values != 0
    count = int(np.count_nonzero(where))
    if count == values.size:
        return dense, 1 + length
    sparse = np.zeros_like(values)
    some, length_of_some = _rounded_densely(values[where], bits) if count else (values[where], 0.0)
    sparse[where] = some
    other = bits_of_choice(values.size, count) + length_of_some
    return (sparse, 1 + other) if other < length else (dense, 1 + length)


def _rounded_densely(values: np.ndarray, bits: int) -> tuple[np.ndarray, float]:
    low, high = float(values.min()), float(values.max())
    if not np.isfinite([low, high]).all():
        raise ValueError("estimator must have finite parameters; some are infinite or not a number. Fit it anew.")
    spread = max(high - low, ALIKE * abs(high), np.finfo(float).tiny)
    exponent = floor(log2(spread)) - bits
    while round(high / 2.0**exponent) - round(low / 2.0**exponent) >= 2**bits:
        exponent += 1
    offset = round(low / 2.0**exponent)
    result = np.rint(values.astype(np.float64) / 2.0**exponent) * 2.0**exponent
    return result.astype(values.dtype), bits * values.size + bits_of_integer(exponent) + bits_of_integer(offset)


def rounded_number(value: float) -> tuple[float, float]:
    """Return a number with a mantissa of 8 bits, and its length: zero or not, sign, mantissa and exponent."""
    if value == 0:
        return 0.0, 1.0
    exponent = floor(log2(abs(value))) - MANTISSA + 1
    return float(np.rint(value / 2.0**exponent) * 2.0**exponent), 2.0 + MANTISSA + bits_of_integer(exponent)

"""Samples in blocks, scaled on the way, on all cores."""

from spkm.sources._array import MANY_ROWS, ArraySource
from spkm.sources._base import Block, Source
from spkm.sources._pairs import PairSource, PairTable
from spkm.sources._rows import distinct_rows, merged_rows, pick_rows
from spkm.sources._scaling import Scaling, fit_scaling
from spkm.sources._threads import one_blas_thread

__all__ = [
    "MANY_ROWS",
    "ArraySource",
    "Block",
    "PairSource",
    "PairTable",
    "Scaling",
    "Source",
    "distinct_rows",
    "fit_scaling",
    "merged_rows",
    "one_blas_thread",
    "pick_rows",
]

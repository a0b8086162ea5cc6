"""Rows in blocks, scaled on the way, on all cores."""

from spkm.sources._array import ArraySource
from spkm.sources._base import Block, Source, one_blas_thread
from spkm.sources._pairs import PairSource, PairTable
from spkm.sources._rows import distinct_rows, merged_rows, pick_rows
from spkm.sources._scaling import Scaling, fit_scaling

__all__ = [
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

"""Samples in blocks, scaled on the way, on all cores."""

from spkm._namespaces import Place, anywhere, place_of
from spkm.sources._array import (
    FOLDS,
    MANY_ROWS,
    ArraySource,
    Block,
    Source,
    dealt_folds,
    dealt_groups,
    kinds_of,
    pick_rows,
)
from spkm.sources._array_api import PlacedSource, source_of
from spkm.sources._chunks import Chunk, ChunkSource, IterableReader, Preparation, Reader, kept_source, summarized
from spkm.sources._pairs import PairSource, PairTable, scaled_table
from spkm.sources._parquet import TableReader
from spkm.sources._rows import distinct_pairs, distinct_rows, gathered_rows, merged_rows
from spkm.sources._scaling import Scaling, fit_scaling, scaling_of_moments
from spkm.sources._span import Span, SpanSource
from spkm.sources._summary import Summary
from spkm.sources._threads import one_blas_thread

__all__ = [
    "FOLDS",
    "MANY_ROWS",
    "ArraySource",
    "Block",
    "Chunk",
    "ChunkSource",
    "IterableReader",
    "PairSource",
    "PairTable",
    "Place",
    "PlacedSource",
    "Preparation",
    "Reader",
    "Scaling",
    "Source",
    "Span",
    "SpanSource",
    "Summary",
    "TableReader",
    "anywhere",
    "dealt_folds",
    "dealt_groups",
    "distinct_pairs",
    "distinct_rows",
    "fit_scaling",
    "gathered_rows",
    "kept_source",
    "kinds_of",
    "merged_rows",
    "one_blas_thread",
    "pick_rows",
    "place_of",
    "scaled_table",
    "scaling_of_moments",
    "source_of",
    "summarized",
]

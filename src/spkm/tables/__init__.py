"""The border: whatever users hold becomes arrays of numbers, targets, weights and names."""

from spkm.tables.encoder import TableEncoder
from spkm.tables.pair_splits import PairKFold
from spkm.tables.predictions import write_predictions
from spkm.tables.streams import FileTable

__all__ = ["FileTable", "PairKFold", "TableEncoder", "write_predictions"]

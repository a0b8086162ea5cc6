"""The facts of a report, as its file of JSON has them."""

import base64
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from spkm.inspection import report


def facts(estimator, X, y=None, **options):
    """Return the facts that a report of samples shows."""
    with TemporaryDirectory() as folder:
        path = report(estimator, Path(folder) / "facts.json", X, y, **options)
        return json.loads(path.read_text(encoding="utf-8"))


def shipped(found):
    """Return the samples in the facts of a report, or of a page, where their codes are letters (base 64)."""
    columns = []
    for first, digits, codes in found["rows"]["columns"]:
        if not isinstance(codes, list):
            codes = np.frombuffer(base64.b64decode(codes["codes"]), "<u2").astype(float)
        columns.append((np.array(codes) + first) / 10.0**digits)
    return np.column_stack(columns)

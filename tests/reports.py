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
    """Return the samples in the facts of a report, or of a page, where their codes are bytes together."""
    columns = found["rows"]["columns"]
    if isinstance(columns, dict):
        raw, at, codes, count = base64.b64decode(columns["codes"]), 0, [], len(found["rows"]["index"])
        for width in columns["widths"]:
            codes.append(np.frombuffer(raw, f"<u{width}", count, at).astype(float))
            at += count * width
        columns = zip(columns["first"], columns["digits"], codes, strict=True)
    return np.column_stack([(np.array(codes) + first) / 10.0**digits for first, digits, codes in columns])

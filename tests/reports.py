"""The facts of a report, as its file of JSON has them."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from spkm.inspection import report


def facts(estimator, X, y=None, **options):
    """Return the facts that a report of samples shows."""
    with TemporaryDirectory() as folder:
        path = report(estimator, Path(folder) / "facts.json", X, y, **options)
        return json.loads(path.read_text(encoding="utf-8"))

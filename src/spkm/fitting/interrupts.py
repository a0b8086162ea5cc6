"""Ctrl-C in a fit: the best model so far is kept, unless the fit is part of other work, which must stop.

A fit that a user calls keeps the best model so far, with a warning. A fit that scikit-learn, joblib or a cluster calls
(a search, a pipeline, a worker) ends by ``KeyboardInterrupt`` and leaves its estimator as it was: a truncated model
must not enter a ranking.
"""

from __future__ import annotations

import sys
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from spkm._checks import warn_user

CALLERS = ("sklearn", "joblib", "dask", "distributed", "concurrent", "multiprocessing")
#: Parts of scikit-learn that stand between a user and ``fit`` without being other work.
WRAPPERS = ("sklearn.base", "sklearn.callback", "sklearn.utils")


def is_nested() -> bool:
    """Whether a fit is called by scikit-learn, joblib or a cluster rather than by a user."""
    frame: Any = sys._getframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.split(".")[0] in CALLERS and not module.startswith(WRAPPERS):
            return True
        frame = frame.f_back
    return False


def settle(what: str, by_signal: bool) -> None:
    """Warn that ``what`` was interrupted and its best is kept; raise ``KeyboardInterrupt`` if other work must stop."""
    if by_signal and is_nested():
        raise KeyboardInterrupt
    warn_user(f"{what} was interrupted; the best model so far is kept.", ConvergenceWarning)

"""Progress of a fit: callbacks of scikit-learn (1.9 and later), messages for ``verbose``, and Ctrl-C.

A fit that a user calls keeps the best model so far after Ctrl-C, with a warning. A fit that scikit-learn, joblib or a
cluster calls (a search, a pipeline, a worker) ends by ``KeyboardInterrupt`` and leaves its estimator as it was: a
truncated model must not enter a ranking.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from spkm._checks import warn_user
from spkm.fitting.checkpoint import Checkpoint

F = TypeVar("F", bound=Callable[..., Any])
try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for scikit-learn's mixin in versions that have none."""

        def _init_callback_context(self, max_subtasks: int | None) -> None:
            return None

    _with_callbacks = None


def with_callbacks(fit: F) -> F:
    """Return ``fit`` with scikit-learn's callbacks, and with its signature for type checkers."""
    return fit if _with_callbacks is None else cast(F, _with_callbacks(fit))


logger = logging.getLogger("spkm")

__all__ = ["CallbackSupportMixin", "Pace", "Progress", "is_nested", "settle", "with_callbacks"]

CALLERS = ("sklearn", "joblib", "dask", "distributed", "concurrent", "multiprocessing")
#: Parts of scikit-learn that stand between a user and ``fit`` without being other work.
WRAPPERS = ("sklearn.base", "sklearn.callback", "sklearn.utils")


PAUSE = 1.0  # seconds at least between two lines of the log with verbose=1


class Pace:
    """Lines of the log: with ``verbose=1`` the first, the last and one a second between them; with 2 all of them.

    Parameters
    ----------
    verbose : int
        The estimator's parameter.
    """

    def __init__(self, verbose: int) -> None:
        self.all = verbose > 1
        self.started = time.monotonic()
        self.last = -PAUSE + self.started

    def is_due(self) -> bool:
        """Whether a line may be logged now; if so, the pause begins."""
        now = time.monotonic()
        due = self.all or now - self.last >= PAUSE
        if due:
            self.last = now
        return due


class Progress:
    """Reports of a fit to callbacks and to the log; callbacks may stop it.

    Parameters
    ----------
    estimator : object
        The estimator.
    context : object, default=None
        The callback context of its fit; None starts one, if scikit-learn has them.
    store : Checkpoint, default=None
        Store of the solver's state.
    pace : Pace, default=None
        Pace of the log, which the parts of a fit share.
    """

    def __init__(
        self, estimator: BaseEstimator, context: Any = None, store: Checkpoint | None = None, pace: Pace | None = None
    ) -> None:
        self.estimator = estimator
        self.store = store
        self.pace = Pace(estimator.verbose) if pace is None else pace
        #: Name of the part and of the stage that lines of the log begin with.
        self.part_name = self.stage_name = ""
        #: Whether the solver was stopped before its end.
        self.interrupted = False
        #: Whether the next iteration is to be the last.
        self.ends_soon = False
        if context is None and isinstance(estimator, CallbackSupportMixin):
            context = estimator._init_callback_context(max_subtasks=None)
        self.context = context
        if estimator.verbose and not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
            logger.setLevel(logging.INFO)
        if store is not None and store.state is not None:
            logger.info("%s goes on from the checkpoint %s", type(estimator).__name__, store.path)

    def begin(self, **data: Any) -> None:
        """Report that the fit begins, with X and y if there are such."""
        if self.context is not None:
            self.context.call_on_fit_task_begin(estimator=self.estimator, **data)

    def end(self, **data: Any) -> None:
        """Report that the fit has ended; ``data`` as in :meth:`begin`."""
        if self.estimator.verbose and not self.part_name:
            seconds = time.monotonic() - self.pace.started
            logger.info("%s done in %.1f s", type(self.estimator).__name__, seconds)
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.estimator, **data)

    def done(self) -> None:
        """Take the checkpoint away after a fit that nobody interrupted."""
        if self.store is not None and not self.interrupted:
            self.store.done()

    def __call__(self, i: int, value: float) -> bool:
        """Report an iteration of a solver that may keep its state in the store; return whether it should be the last.

        The first one is if Ctrl-C came before it.
        """
        return self.iteration(i, value) or self.ends_soon

    def stage(self, name: str) -> None:
        """Report that a stage of the fit begins, whose name the lines of the log have from now on."""
        self.stage_name = name
        self._log(name)

    def iteration(self, i: int, value: float) -> bool:
        """Report an iteration of the solver; return whether it should be the last."""
        self._log(f"{self.stage_name} iteration {i}: objective {value:.6g}".lstrip())
        return self._task("iteration")

    def step(self, text: str) -> bool:
        """Report a step of a search; return whether it should be the last."""
        self._log(text)
        return self._task(text)

    def part(self, name: str) -> Progress:
        """Return the progress of one of several binary problems, reported as a task of its own."""
        context = None if self.context is None else self.context.subcontext(task_name=name, max_subtasks=None)
        part = Progress(self.estimator, context, pace=self.pace)
        part.part_name = f"{name}: "
        return part

    def _log(self, text: str) -> None:
        if self.estimator.verbose and self.pace.is_due():
            logger.info("%s %s%s", type(self.estimator).__name__, self.part_name, text)

    def _task(self, name: str) -> bool:
        if self.context is None:
            return False
        task = self.context.subcontext(task_name=name).call_on_fit_task_begin(estimator=self.estimator)
        return bool(task.call_on_fit_task_end(estimator=self.estimator))


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

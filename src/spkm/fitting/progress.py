"""Progress of a fit: scikit-learn's callbacks where they exist (1.9 and later), and messages for ``verbose``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for scikit-learn's mixin where it has none."""

    def with_callbacks(fit: Callable) -> Callable:
        """Return ``fit`` as it is."""
        return fit


logger = logging.getLogger("spkm")

__all__ = ["CallbackSupportMixin", "Progress", "with_callbacks"]


class Progress:
    """Whom a fit tells what it does, and who may ask it to stop.

    Parameters
    ----------
    estimator : object
        The estimator.
    context : object, default=None
        The callback context of its fit; None starts one, if scikit-learn has them.
    store : Checkpoint, default=None
        Where the solver keeps its state.
    """

    def __init__(self, estimator: Any, context: Any = None, store: Any = None) -> None:
        self.estimator = estimator
        self.store = store
        #: Whether the solver was stopped before its end.
        self.interrupted = False
        if context is None and hasattr(estimator, "_init_callback_context"):
            context = estimator._init_callback_context(max_subtasks=None)
        self.context = context
        if estimator.verbose and not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
            logger.setLevel(logging.INFO)

    def begin(self, **data: Any) -> None:
        """Tell that the fit begins, with X and y where there are such."""
        if self.context is not None:
            self.context.call_on_fit_task_begin(estimator=self.estimator, **data)

    def end(self, **data: Any) -> None:
        """Tell that the fit has ended."""
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.estimator, **data)

    def done(self) -> None:
        """Take the checkpoint away after a fit that nobody interrupted."""
        if self.store is not None and not self.interrupted:
            self.store.done()

    def iteration(self, i: int, value: float) -> bool:
        """Tell of an iteration of the solver; return whether it should be the last."""
        self._log("iteration %d: objective %.6g", i, value)
        return self._task("iteration")

    def step(self, text: str) -> bool:
        """Tell of a step of a search; return whether it should be the last."""
        self._log("%s", text)
        return self._task(text)

    def part(self, name: str) -> Progress:
        """Return the progress of one of several binary problems, told of as a task of its own."""
        self._log("%s", name)
        context = None if self.context is None else self.context.subcontext(task_name=name, max_subtasks=None)
        return Progress(self.estimator, context)

    def _log(self, text: str, *args: Any) -> None:
        if self.estimator.verbose:
            logger.info("%s " + text, type(self.estimator).__name__, *args)

    def _task(self, name: str) -> bool:
        if self.context is None:
            return False
        task = self.context.subcontext(task_name=name).call_on_fit_task_begin(estimator=self.estimator)
        return bool(task.call_on_fit_task_end(estimator=self.estimator))

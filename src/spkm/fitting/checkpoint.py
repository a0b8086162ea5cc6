"""A fit that survives its process: the solver's state goes to a file from time to time, and the next call reads it.

The file is an archive of NumPy arrays without pickle, written beside its place and then moved there, so that it is
whole or absent. The steps before the solver (scaling, bandwidth, strengths, start points) are done again from the same
seed; the file says which parameters and samples it belongs to.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import FileName
from spkm._atomic import check_place, replacing
from spkm.core.starts import draw_sample
from spkm.sources import Source

FORMAT = 2
EVERY = 120.0  # seconds between two writings
LOOKED_AT = 1000  # samples whose numbers separate one table from another
IGNORED = ("n_jobs", "verbose", "warm_start")  # parameters that change no result


class Checkpoint:
    """File that a fit writes its state to, and the state found there.

    Parameters
    ----------
    path : str or path
        The file.
    every : float
        Least seconds between two writings.
    estimator : object
        Whose parameters the file must have been written with.
    """

    def __init__(self, path: FileName, every: float | None, estimator: BaseEstimator) -> None:
        if not (isinstance(every, int | float) and not isinstance(every, bool) and every >= 0):
            raise ValueError(f"checkpoint_every must be a number of seconds of at least 0; got {every!r}.")
        self.path = Path(path)
        check_place(path, "checkpoint")
        self.every = float(every)
        self.written = time.monotonic()
        #: Entries that best_of_restarts adds to the state of a solver.
        self.context: dict[str, Any] = {}
        self.state: dict[str, Any] | None = None
        params = estimator.get_params(deep=False)
        seed = params["random_state"]
        if not (seed is None or isinstance(seed, int | np.integer)):
            raise ValueError(f"checkpoint needs an integer or None as random_state; got {seed!r}.")
        self.header: dict[str, Any] = {
            "format": FORMAT,
            "estimator": type(estimator).__name__,
            "parameters": {name: described(v) for name, v in params.items() if name not in IGNORED},
            "seed": int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed),
        }
        if self.path.exists():
            self._read()
        #: Parameters of the fit, with the seed of the one that wrote the file.
        self.params = {**params, "random_state": self.header["seed"]}

    def _read(self) -> None:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            header = json.loads(arrays.pop("header").tobytes())
            known = header["format"], header["estimator"], header["parameters"], header["data"], header["seed"]
        except Exception as error:
            raise ValueError(f"checkpoint={str(self.path)!r} is no checkpoint of a fit. {_ADVICE}") from error
        for what, before, now in (
            ("format", known[0], FORMAT),
            ("estimator", known[1], self.header["estimator"]),
            *((name, known[2].get(name), value) for name, value in self.header["parameters"].items()),
        ):
            if before != now:
                raise ValueError(
                    f"checkpoint={str(self.path)!r} was written with {what}={before}, and now it is {now}. {_ADVICE}"
                )
        self.header.update(header)
        self.state = arrays

    def check_data(self, source: Source) -> None:
        """Take note of the samples; raise ValueError if the file is of others."""
        found: dict[str, Any] = {"samples": source.n_rows, "features": source.n_features, "weight": source.total_weight}
        some = draw_sample(source, LOOKED_AT, np.random.default_rng(0))
        found["numbers"] = _digest(some.X, some.Y, some.weight, *source.ranges())
        before = self.header.setdefault("data", found)
        for what, value in found.items():
            if before[what] != value:
                raise ValueError(
                    f"checkpoint={str(self.path)!r} was written in a fit of other samples: their {what} were "
                    f"{before[what]}, and now are {value}. {_ADVICE}"
                )

    def keep(self, state: Callable[[], dict[str, Any]]) -> None:
        """Write what ``state`` returns, if it is time to."""
        if time.monotonic() - self.written < self.every:
            return
        arrays = {**self.context, **state()}
        header = np.frombuffer(json.dumps(self.header).encode(), dtype=np.uint8)
        with replacing(self.path, "checkpoint") as beside, open(beside, "wb") as file:
            np.savez(file, allow_pickle=False, header=header, **arrays)
        self.written = time.monotonic()

    def done(self) -> None:
        """Take the file away: the fit has ended."""
        self.path.unlink(missing_ok=True)


_ADVICE = "Delete the file to begin anew, or name another."


def opened_checkpoint(estimator: BaseEstimator, path: FileName, every: float | None) -> Checkpoint:
    """Return the checkpoint of a fit, with what an earlier one left there."""
    for wrong, what in (
        (estimator.selection is not None, "selection"),
        (isinstance(estimator.n_basis, str), "n_basis"),
        (estimator.multi_class != "joint", "multi_class"),
        (estimator.warm_start, "warm_start"),
    ):
        if wrong:
            raise ValueError(
                f"checkpoint goes with a plain fit, of one model from the beginning; got {what}="
                f"{getattr(estimator, what)!r}."
            )
    return Checkpoint(path, every, estimator)


def described(value: Any) -> Any:
    """Return a parameter as something that JSON holds and that is equal for equal parameters."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}, {_digest(value)}"
    if isinstance(value, BaseEstimator):
        return {"": type(value).__name__, **{k: described(v) for k, v in value.get_params(deep=False).items()}}
    if isinstance(value, dict):
        return {str(name): described(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [described(entry) for entry in value]
    if callable(value):
        named = value if isinstance(value, type | FunctionType | BuiltinFunctionType | MethodType) else type(value)
        return f"{named.__module__}.{named.__qualname__}"
    return value if value is None or type(value) in (bool, int, float, str) else repr(value)


def _digest(*arrays: np.ndarray) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()

"""Services: answers over HTTP and files of the command, against those of Python, and requests that are broken."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._hostile.cases import Case, draw_case
from benchmarks._hostile.comparing import differences
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import NotPossible, answers_of, cells_of
from spkm.cli import main, service
from spkm.persistence import load, save
from spkm.tables.pipelines import encoder_of, last_of


def trial(seed: int, folder: Path) -> Trial:
    """Fit the model of a seed and save it."""
    case = draw_case(seed)
    model = case.model.fit(case.X, case.y)
    save(model, folder / "model.spkm", data=case.X)
    serving = _Served(case, model, folder)
    return Trial(case.about, serving.laws())


class _Served:
    def __init__(self, case: Case, model: Any, folder: Path) -> None:
        self.case, self.model, self.folder = case, model, folder
        self.rng = np.random.default_rng(case.seed)

    def laws(self) -> dict[str, Callable[[], str]]:
        return {
            "answers over HTTP": self.answers,
            "broken requests": self.broken,
            "spkm export": self.exported,
            "spkm predict": self.predicted,
            "spkm check": self.checked,
        }

    @cached_property
    def want(self) -> Any:
        return answers_of(self.model, self.case.new)

    def _ask(self, bodies: list[bytes]) -> list[tuple[int, Any]]:
        light: Any = load(self.folder / "model.spkm", runtime="numpy")
        server = service.Server(("127.0.0.1", 0), light)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        found = []
        try:
            for body in bodies:
                connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
                connection.request("POST", "/predict", body=body)
                response = connection.getresponse()
                found.append((response.status, json.loads(response.read())))
                connection.close()
        finally:
            server.shutdown()
            server.server_close()
        return found

    def answers(self) -> str:
        ((status, found),) = self._ask([json.dumps({"rows": cells_of(self.case.new)}).encode()])
        if status != 200:
            return f"status {status}: {found}"
        rows = found["answers"]
        answers: dict[str, Any] = {
            "scores": np.array([np.ravel(one["score"]) for one in rows], dtype=float),
            "predict": np.array([one["prediction"] for one in rows]),
        }
        if last_of(self.model).model_.pairs is not None:  # its scores are votes
            del answers["scores"]
        if "probability" in rows[0]:
            answers["probabilities"] = np.array([list(one["probability"].values()) for one in rows], dtype=float)
        return differences(self.model, self.case.new, self.want, answers, exact=False)

    def broken(self) -> str:
        """Requests with something changed: an answer or a reason, never a dropped connection or status 500."""
        rows = cells_of(self.case.new)[:2]
        bad: list[Any] = [float("inf"), "nan", "1_0", [], {}, True, 10**400, "", None, "\x00", -0.0]
        bodies = [b"", b"{", b"[]", b"null", b'{"rows": 3}', b"[[1e999]]"]
        for _ in range(12):
            changed = [list(row) for row in rows]
            changed[0][self.rng.integers(len(changed[0]))] = bad[self.rng.integers(len(bad))]
            if self.rng.random() < 0.2:
                changed[1] = changed[1][:-1]
            bodies.append(json.dumps({"rows": changed}).encode())
        for body, (status, found) in zip(bodies, self._ask(bodies), strict=True):
            if status >= 500 or (status == 200 and not _finite(found)):
                return f"{body[:120]!r}: status {status}, {str(found)[:200]}"
        return ""

    def _table(self) -> Path:
        if self.model is last_of(self.model) and not isinstance(self.case.new, pd.DataFrame):
            raise NotPossible("a table has names")
        if encoder_of(self.model) is not None:
            raise NotPossible("texts of a CSV file are levels of their own")
        path = self.folder / "new.csv"
        self.case.new.to_csv(path, index=False)
        return path

    def _run(self, *words: str) -> tuple[int, str]:
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = main(list(words))
        return status, out.getvalue() + err.getvalue()

    def exported(self) -> str:
        """The command writes what the function writes."""
        from spkm.persistence import export

        for ending in ("json", "py", "js", "h"):
            status, text = self._run("export", str(self.folder / "model.spkm"), "-o", str(self.folder / f"a.{ending}"))
            if status:
                return f"{ending}: status {status}: {text[-300:]}"
            export(self.model, self.folder / f"b.{ending}")
            if (self.folder / f"a.{ending}").read_bytes() != (self.folder / f"b.{ending}").read_bytes():
                return f"{ending}: the command writes another file"
        return ""

    def predicted(self) -> str:
        path, out = self._table(), self.folder / "out.csv"
        status, text = self._run("predict", str(self.folder / "model.spkm"), str(path), "-o", str(out))
        if status:
            return f"status {status}: {text[-300:]}"
        frame = pd.read_csv(out, keep_default_na=False)
        again = pd.read_csv(path)
        if last_of(self.model).model_.target.two_dimensional:
            raise NotPossible("several columns")
        found = frame["prediction"].to_numpy()
        want = self.model.predict(again)
        if last_of(self.model).model_.target.of_classes:
            same = [str(a) == str(b) for a, b in zip(found, want, strict=True)]
            return "" if all(same) else f"{len(same) - sum(same)} predictions differ"
        gap = np.abs(found.astype(float) - want)
        return "" if np.all(gap <= 1e-9 * (1 + np.abs(want))) else f"predictions differ by {gap.max()}"

    def checked(self) -> str:
        """The samples of the fit themselves are no drift."""
        if not isinstance(self.case.X, pd.DataFrame) or encoder_of(self.model) is not None:
            raise NotPossible("a table has names")
        self.case.X.to_csv(self.folder / "train.csv", index=False)
        status, text = self._run("check", str(self.folder / "model.spkm"), str(self.folder / "train.csv"))
        return "" if status == 0 else f"status {status}: {text[-300:]}"


def _finite(found: Any) -> bool:
    return "NaN" not in json.dumps(found) and "Infinity" not in json.dumps(found)

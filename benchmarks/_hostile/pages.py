"""The scripts of a report's page, run by node: its numbers against those of Python, and its own laws."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from benchmarks._hostile.cases import Case, draw_case
from benchmarks._hostile.comparing import apart, rounding_of, sizes_of
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import NODE, NotPossible
from spkm.inspection import report
from spkm.inspection._report._html import SCRIPTS
from spkm.tables.pipelines import before_last, last_of

#: What node computes of the facts of a page; nothing of it draws.
ASK = """
const facts = unpacked(JSON.parse(require("fs").readFileSync(0, "utf8")));
const machine = makeMachine(facts);
const out = { verify: null };
if (machine !== null) {
  const { verify: expected } = facts.page;
  const rows = typeof expected.rows === "number" ? machine.rows.slice(0, expected.rows) : expected.rows;
  out.verify = verify(machine);
  out.expected = expected.scores;
  out.scores = rows.map((row) => machine.engine.scores(row));
  out.probabilities = rows.map((row) => machine.engine.probabilities(row));
  out.sums = rows.map((row) => {
    const added = machine.engine.contributions(row);
    return out.scores[0].map((_, o) => added.reduce((sum, own) => sum + Math.abs(own[o]), 0));
  });
  out.answers = rows.map((row) => String(answer(machine, row).prediction));
  out.shapley = rows.slice(0, 2).map((row) => shapleyValues(machine, row));
  out.changes = [];
  const classes = machine.plain.classes;
  if (machine.plain.task !== "regression" && machine.plain.task !== "labels" && classes !== null && rows.length) {
    const row = rows[0], now = String(machine.engine.predict(row));
    const wanted = classes.find((label) => String(label) !== now);
    const found = smallestChange(machine, row, wanted);
    const margin = marginOf(machine, wanted, row);
    out.changes.push({ found: found.found, proved: found.proved, size: found.size,
      margin: found.found ? margin(withChange(machine, row, found.changes)) : null });
  }
  out.near = rows.slice(0, 2).map((row) => nearestRows(machine, row, 3));
}
process.stdout.write(JSON.stringify(out));
"""


def program() -> str:
    """Return the page's scripts that compute, and the question."""
    page = files("spkm.inspection._report") / "page"
    engine = (files("spkm.persistence") / "_engine.js").read_text(encoding="utf-8")
    scripts = [(page / name).read_text(encoding="utf-8") for name in SCRIPTS if name != "main.js"]
    return "\n".join([engine, *scripts, ASK])


def trial(seed: int, folder: Path) -> Trial:
    """Fit the model of a seed, write its page and let node compute what a reader would see."""
    if NODE is None:
        raise NotPossible("node is not installed")
    case = draw_case(seed)
    model = case.model.fit(case.X, case.y)
    report(model, folder / "page.html", case.X, case.y)
    text = (folder / "page.html").read_text(encoding="utf-8")
    found = re.search(r'<script[^>]*id="facts"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert found is not None
    (folder / "page.js").write_text(program(), encoding="utf-8")
    command = [NODE, str(folder / "page.js")]
    done = subprocess.run(command, input=found.group(1), capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise AssertionError(done.stderr[-800:])
    seen = json.loads(done.stdout)
    if seen["verify"] is None:
        raise NotPossible("a page without a machine")
    return Trial(case.about, _Page(case, model, json.loads(found.group(1)), seen).laws())


class _Page:
    def __init__(self, case: Case, model: Any, facts: Any, seen: Any) -> None:
        self.case, self.model, self.facts, self.seen = case, model, facts, seen
        self.sizes = np.asarray(seen["sums"], dtype=float) + 1.0

    def laws(self) -> dict[str, Callable[[], str]]:
        return {
            "its own comparison with Python": self.verified,
            "scores": self.scores,
            "predictions": self.predictions,
            "Shapley values add up": self.shapley,
            "a smallest change reaches its class": self.change,
            "nearest samples": self.near,
        }

    def verified(self) -> str:
        own = self.seen["verify"]
        return "" if own["good"] else f"worst {own['worst']}, {own['wrong']} wrong of {own['count']}"

    def scores(self) -> str:
        """Numbers of the page against those that Python has put into it, up to the rounding of sums and distances."""
        fitted = last_of(self.model).model_
        rows = last_of(self.model)._rows(before_last(self.model, self.case.X))
        dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        bound = np.maximum(1e-12 * self.sizes, rounding_of(fitted, dense).max(axis=0))
        return apart(self.seen["scores"], self.seen["expected"], bound, "scores")

    def predictions(self) -> str:
        """Text of the answer, where the samples of the page are those of the table."""
        if not last_of(self.model).model_.target.of_classes or self.facts["rows"] is None:
            raise NotPossible("numbers, or no samples")
        given = self.facts["page"]["verify"]["predictions"]
        want = [",".join(map(str, value)) if isinstance(value, list) else str(value) for value in given]
        wrong = [(a, b) for a, b in zip(self.seen["answers"], want, strict=True) if _plain(a) != _plain(b)]
        return f"{wrong[0]}, {len(wrong)} of {len(want)}" if wrong else ""

    def shapley(self) -> str:
        for k, one in enumerate(self.seen["shapley"]):
            if not one["exact"]:
                continue
            total = np.asarray(one["values"], dtype=float).sum(axis=0) + np.asarray(one["base"], dtype=float)
            size = self.sizes.max() + self._weights()
            problem = apart(total, one["scores"], 1e-9 * size, f"sums of sample {k}")
            if problem:
                return problem
        return ""

    def _weights(self) -> float:
        fitted = last_of(self.model).model_
        rows = last_of(self.model)._rows(before_last(self.model, self.case.X))
        return float(np.abs(fitted.weights).sum() + sizes_of(fitted, rows).max())

    def change(self) -> str:
        for one in self.seen["changes"]:
            if one["found"] and not one["margin"] >= 0:
                return f"a change of size {one['size']} has the margin {one['margin']}"
            if one["found"] and not one["size"] >= 0:
                return f"a change has the size {one['size']}"
        return ""

    def near(self) -> str:
        """Similarities fall, and are those of samples that are there."""
        for found in self.seen["near"]:
            values = [one["similarity"] for one in found]
            if values != sorted(values, reverse=True):
                return f"similarities {values}"
        return ""


def _plain(text: str) -> str:
    """Return a prediction as both languages write it: truths, and numbers without a point."""
    text = {"True": "true", "False": "false"}.get(text, text)
    number = pd.to_numeric(text, errors="coerce")
    return text if pd.isna(number) else repr(float(number))

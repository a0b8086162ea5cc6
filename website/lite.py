"""Add notebooks that run in the browser to the site: ``make docs-lite``, after ``make docs``.

JupyterLite, the wheel of the library and the gallery's notebooks go into ``build/site/html/lite``; nothing is fetched.
A visitor's browser then loads Pyodide, with NumPy, SciPy and scikit-learn, from the address in JupyterLite's settings.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

SITE = Path(__file__).parents[1] / "build" / "site"
FIRST = "%pip install spkm pandas matplotlib"


def with_installation(notebook: dict) -> dict:
    """Return a notebook that installs what it needs in its first cell."""
    cell = {"cell_type": "code", "execution_count": None, "id": "install", "metadata": {}, "outputs": []}
    return {**notebook, "cells": [{**cell, "source": [FIRST]}, *notebook["cells"]]}


def main() -> int:
    notebooks = sorted((SITE / "html" / "_downloads").rglob("plot_*.ipynb"))
    if not notebooks:
        print("There are no notebooks: run make docs first.", file=sys.stderr)
        return 1
    work = SITE / "lite"
    shutil.rmtree(work, ignore_errors=True)
    (work / "files").mkdir(parents=True)
    for path in notebooks:
        changed = with_installation(json.loads(path.read_text(encoding="utf-8")))
        (work / "files" / path.name).write_text(json.dumps(changed), encoding="utf-8")
    root = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(work), str(root)], check=True)
    wheel = next(work.glob("spkm-*.whl"))
    command = [sys.executable, "-m", "jupyterlite_core", "build", "--contents", "files", "--piplite-wheels", wheel.name]
    subprocess.run([*command, "--output-dir", str(SITE / "html" / "lite")], check=True, cwd=work)
    index = json.loads((SITE / "html" / "lite" / "pypi" / "all.json").read_text(encoding="utf-8"))
    assert "spkm" in index, "the wheel of the library is not in JupyterLite's index"
    print(f"{len(notebooks)} notebooks are in build/site/html/lite: serve html over HTTP and open lite/lab/index.html.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

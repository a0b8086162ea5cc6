"""The demo runs with what users install: the library and matplotlib, no tool of developers and no data frames."""

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"
NOT_FOR_USERS = ("hypothesis", "mypy", "pandas", "polars", "pyarrow", "pytest", "rich", "spkm_paper")


def test_the_demo_needs_the_extra_plot_only():
    code = f"""
import runpy, sys

class NotInstalled:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in {NOT_FOR_USERS!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled)
demo = runpy.run_path({str(DEMO)!r}, run_name="demo")
for rows in ("breast_cancer", "digits", "diabetes", "moons", "few_of_many"):
    X, y = demo[rows]()
    assert len(X) == len(y)
demo["write_out_breast_cancer"]()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "f(x) = " in done.stdout and "u2" in done.stdout

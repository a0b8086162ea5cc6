"""Build the wheel as a release would, and try it: ``python tests/release_check.py [--python python3.13] [--out dist]``.

Two builds in two folders must be the same to the byte; ``twine check`` must like them; in a clean environment the wheel
is installed, and a model is fitted, reported on, saved, loaded and exported. A bill of materials (CycloneDX) of what
was installed is written beside the wheel. Nothing is uploaded. It needs pip, a network or a mirror, and build and twine
(``pip install '.[release]'``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
SMOKE = """
import json, sys, tempfile, os
import spkm
from sklearn.datasets import load_breast_cancer
assert "site-packages" in spkm.__file__, spkm.__file__
X, y = load_breast_cancer(return_X_y=True)
model = spkm.SPKMClassifier(n_basis=4, random_state=0).fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.spkm")
    model.save(path, data=X)
    assert (spkm.load(path).predict_proba(X) == model.predict_proba(X)).all()
    assert spkm.load(path, runtime="numpy").predict(X[:5]).tolist() == model.predict(X[:5]).tolist()
    for name in ("report.html", "card.md"):
        model.report(os.path.join(folder, name), X, y)
    for suffix in (".json", ".js", ".py", ".c", ".sql"):
        model.export(os.path.join(folder, "model" + suffix))
assert os.path.exists(os.path.join(os.path.dirname(spkm.__file__), "py.typed"))
print(f"Python {sys.version.split()[0]}, spkm {spkm.__version__}: accuracy {model.score(X, y):.3f}")
"""
PACKAGES = """
import json
from importlib.metadata import distributions
keep = ("License-Expression", "License", "Summary")
print(json.dumps([
    {"name": d.metadata["Name"], "version": d.version, **{k: d.metadata[k] for k in keep if d.metadata[k]}}
    for d in distributions()
]))
"""


def build(out: Path, epoch: str) -> list[Path]:
    """Return the wheel and the source archive of a copy of the sources, built with a given time."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "spkm"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "dist", "__pycache__", "demo_output"))
        shutil.copy(ROOT / ".gitignore", copy / ".gitignore")
        command = [sys.executable, "-m", "build", "--outdir", str(out), str(copy)]
        subprocess.run(command, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": epoch}, stdout=subprocess.DEVNULL)
    return sorted(out.iterdir())


def sha256(path: Path) -> str:
    """Return the checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bill_of_materials(
    packages: list[dict[str, str]], wheel_name: str, wheel_hash: str, epoch: str
) -> dict[str, object]:
    """Return a CycloneDX document of what an installation of the wheel brings, the same for the same packages.

    Examples
    --------
    >>> found = bill_of_materials([{"name": "numpy", "version": "2.0"}], "spkm-1-py3-none-any.whl", "00", "0")
    >>> found["components"][0]["purl"]
    'pkg:pypi/numpy@2.0'
    """
    components = []
    for one in sorted(packages, key=lambda package: package["name"].lower()):
        name = one["name"].lower().replace("_", "-")
        purl = f"pkg:pypi/{name}@{one['version']}"
        component = {"type": "library", "bom-ref": purl, "name": name, "version": one["version"], "purl": purl}
        licence = one.get("License-Expression") or (one.get("License", "").strip().splitlines() or [""])[0][:80]
        if licence:
            key = "expression" if "License-Expression" in one else "license"
            component["licenses"] = [{key: licence if key == "expression" else {"name": licence}}]  # type: ignore
        components.append(component)
    version = wheel_name.split("-")[1]
    main = {"type": "library", "bom-ref": f"pkg:pypi/spkm@{version}", "name": "spkm", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, wheel_hash + json.dumps(components))}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(epoch), UTC).isoformat(),
            "component": {
                **main,
                "purl": f"pkg:pypi/spkm@{version}",
                "licenses": [{"expression": "BSD-3-Clause"}],
                "hashes": [{"alg": "SHA-256", "content": wheel_hash}],
            },
        },
        "components": components,
        "dependencies": [{"ref": main["bom-ref"], "dependsOn": [str(one["bom-ref"]) for one in components]}],
    }


def tried(wheel: Path, python: str) -> tuple[str, list[dict[str, str]]]:
    """Return what the smoke test says in a new environment with the wheel alone, and the packages that it has."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        own = Path(folder) / "bin" / "python"
        install = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
        subprocess.run(install, check=True)
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        said = [
            subprocess.run([own, "-c", code], check=True, capture_output=True, text=True, cwd=folder, env=clean).stdout
            for code in (SMOKE, PACKAGES)
        ]
        version = subprocess.run(
            [Path(folder) / "bin" / "spkm", "--version"], check=True, capture_output=True, env=clean
        )
        assert b"spkm" in version.stdout
    unwanted = ("spkm", "pip", "setuptools")
    return said[0].strip(), [one for one in json.loads(said[1]) if one["name"].lower() not in unwanted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", action="append", default=[], help="to try the wheel with; this one, unless given")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where wheel and bill of materials go")
    options = parser.parse_args()
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "1700000000")
    with tempfile.TemporaryDirectory() as folder:
        first, second = (build(Path(folder) / name, epoch) for name in ("a", "b"))
        for one, other in zip(first, second, strict=True):
            if sha256(one) != sha256(other):
                raise SystemExit(f"{one.name}: two builds differ.")
            print(f"{sha256(one)}  {one.name}, twice")
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, first)], check=True)
        options.out.mkdir(exist_ok=True)
        built = [Path(shutil.copy(path, options.out)) for path in first]
    wheel = next(path for path in built if path.suffix == ".whl")
    packages: list[dict[str, str]] = []
    for python in options.python or [sys.executable]:
        said, packages = tried(wheel, python)
        print(said)
    bill = options.out / f"{wheel.name.removesuffix('.whl')}.cdx.json"
    text = json.dumps(bill_of_materials(packages, wheel.name, sha256(wheel), epoch), indent=2)
    bill.write_text(text + "\n")
    print(f"{bill.name}: {len(packages)} packages")


if __name__ == "__main__":
    main()

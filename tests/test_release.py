"""What a release is made of: the same wheel from the same sources, with what belongs in it, and a bill of materials."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import uuid
import zipfile
from pathlib import Path

import pytest

import spkm
from tests.release_check import bill_of_materials, sha256

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Return two wheels, built from two copies of the sources at different times."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    found = []
    for k, name in enumerate("ab"):
        folder = tmp_path_factory.mktemp(name)
        copy = folder / "sources"
        shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / file, copy)
        for path in copy.rglob("*.py"):
            os.utime(path, (10**9 + 10**6 * k,) * 2)
        code = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        command = [sys.executable, "-c", code, str(folder)]
        subprocess.run(command, cwd=copy, env=environment, check=True, capture_output=True, timeout=120)
        found.append(next(folder.glob("*.whl")))
    return found


@pytest.mark.skipif("dev" in spkm.__version__, reason="between two releases")
def test_the_version_is_the_same_everywhere():
    newest = re.search(r"^## \[(.+)\] - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    cited = (ROOT / "CITATION.cff").read_text()
    assert newest[1] == spkm.__version__
    assert f"\nversion: {newest[1]}\ndate-released: {newest[2]}\n" in cited


def test_two_builds_are_one_wheel(wheels):
    assert wheels[0].name == wheels[1].name and sha256(wheels[0]) == sha256(wheels[1])


def test_a_wheel_holds_the_package_and_nothing_else(wheels):
    with zipfile.ZipFile(wheels[0]) as archive:
        names = archive.namelist()
        info = next(name for name in names if name.endswith("METADATA"))
        metadata = archive.read(info).decode()
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*") if path.is_file()}
    sources = {name for name in sources if "__pycache__" not in name}
    assert {name for name in names if ".dist-info/" not in name} == sources
    assert {"spkm/py.typed", "spkm/persistence/_engine.js"} <= sources
    assert f"Version: {spkm.__version__}" in metadata and "License-Expression: BSD-3-Clause" in metadata
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_bill_of_materials():
    packages = [
        {"name": "NumPy", "version": "2.0", "License": "BSD License\nmore text"},
        {"name": "joblib", "version": "1.4", "License-Expression": "BSD-3-Clause"},
        {"name": "thread_pool", "version": "3"},
    ]
    bill = bill_of_materials(packages, "spkm-0.2.0-py3-none-any.whl", "ab" * 32, "1700000000")
    assert bill["bomFormat"] == "CycloneDX" and bill["specVersion"] == "1.5"
    assert uuid.UUID(bill["serialNumber"].removeprefix("urn:uuid:"))
    refs = [one["bom-ref"] for one in bill["components"]]
    assert refs == ["pkg:pypi/joblib@1.4", "pkg:pypi/numpy@2.0", "pkg:pypi/thread-pool@3"]
    assert bill["components"][1]["licenses"] == [{"license": {"name": "BSD License"}}]
    assert bill["dependencies"] == [{"ref": "pkg:pypi/spkm@0.2.0", "dependsOn": refs}]
    assert bill["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert json.loads(json.dumps(bill)) == bill
    assert bill == bill_of_materials(packages[::-1], "spkm-0.2.0-py3-none-any.whl", "ab" * 32, "1700000000")


def test_the_group_of_developers_has_the_tools_of_the_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extra = [tool for tool in project["project"]["optional-dependencies"]["dev"] if not tool.startswith("spkm[")]
    assert project["dependency-groups"]["dev"] == extra


def test_the_conda_recipe_has_the_dependencies_and_the_last_release():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    for need in project["project"]["dependencies"]:
        assert f"- {need.replace('>=', ' >=')}" in recipe
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    assert f"version: {released[0]}" in recipe

"""Print the oldest versions of all packages that the tests need, as pyproject.toml names them, for pip."""

import tomllib
from pathlib import Path

TOOLS = ("build", "import-linter", "mypy", "ruff", "spkm", "twine")  # of `make lint`, and the library itself


def oldest_versions(path: Path) -> list[str]:
    """Return a requirement "name==version" for every "name>=version" of the library and of its extras."""
    project = tomllib.loads(path.read_text())["project"]
    extras = {
        name: asked for name, asked in project["optional-dependencies"].items() if name != "docs"
    }  # no test needs it
    asked = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]
    return [one.replace(">=", "==") for one in asked if not one.startswith(TOOLS)]


if __name__ == "__main__":
    print("\n".join(oldest_versions(Path(__file__).parents[1] / "pyproject.toml")))

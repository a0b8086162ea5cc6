"""Build the web site into ``build/site/html``: ``make docs``.

The pages are the Markdown files of the repository as they are. They are copied into one folder (those of ``docs`` to
its root, all others to where they are), and links between them are rewritten accordingly. Pages of the reference are
written from the public names of the library, and the live reports by the library itself. Then Sphinx runs, with
warnings as errors, and every internal link of the pages it wrote is followed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from links import broken_links
from live import write_reports
from reference import write_reference

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "site"
SOURCE, OUTPUT = SITE / "source", SITE / "html"
PAGES = (
    "docs/**/*.md",
    "paper/README.md",
    "paper/FIDELITY.md",
    "paper/docs/*.md",
    "paper/results/*.md",
    "benchmarks/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
)
LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s]+)\)")
SIGN = re.compile(r"([±×≤≥]) (?=[.\d])")


def staged(path: Path) -> Path:
    """Return where a file of the repository is put; the README is the first page, examples are those of the gallery."""
    relative = path.relative_to(ROOT)
    if relative == Path("README.md"):
        return SOURCE / "index.md"
    if relative.parts[:2] == ("examples", "gallery"):
        return SOURCE / "gallery" / ("index.rst" if relative.stem == "README" else f"{relative.stem}.rst")
    return SOURCE / (relative.relative_to("docs") if relative.parts[0] == "docs" else relative)


def rewritten(text: str, page: Path) -> str:
    """Return a page whose relative links are those of the folder that Sphinx reads, and copy what they lead to."""

    def replace(match: re.Match[str]) -> str:
        text, link = match.groups()
        name, hash_, anchor = link.partition("#")
        if not name or re.match(r"[a-z]+:", name):
            return match[0]
        target = (page.parent / name).resolve()
        if not target.is_relative_to(ROOT) or not target.exists():
            return match[0]  # made by the build, such as the gallery; Sphinx warns if it is not
        if target.is_dir():
            return text  # the site has no page of a folder
        if target.is_file() and target.suffix != ".md" and staged(target).suffix != ".rst":
            staged(target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, staged(target))
        return f"[{text}]({os.path.relpath(staged(target), staged(page).parent)}{hash_}{anchor})"

    return LINK.sub(replace, text)


def unbroken(text: str) -> str:
    """Return a page in whose tables no line ends between a sign and its number."""
    return "\n".join(SIGN.sub("\\1\u00a0", line) if line.startswith("| ") else line for line in text.split("\n"))


def stage() -> None:
    """Copy pages and examples into the folder that Sphinx reads; what the gallery drew stays until its code changes."""
    SOURCE.mkdir(parents=True, exist_ok=True)
    for path in SOURCE.iterdir():
        if path.is_dir() and path.name != "gallery":
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()
    for pattern in PAGES:
        for page in sorted(ROOT.glob(pattern)):
            staged(page).parent.mkdir(parents=True, exist_ok=True)
            text = unbroken(rewritten(page.read_text(encoding="utf-8"), page))
            if page.match("paper/results/*.md") and page.name != "README.md":
                text = "---\norphan: true\n---\n\n" + text  # reached from the page that has them all, not from the menu
            staged(page).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "examples" / "gallery", SOURCE / "examples" / "gallery")


def blank_pictures(folder: Path) -> list[str]:
    """Return pictures of one colour: a cell of an example has drawn into a figure that the cell before it has shown."""
    from matplotlib.image import imread

    return [
        f"{path} is blank" for path in sorted(folder.glob("*.png")) if not np.ptp(imread(path)[..., :3], (0, 1)).any()
    ]


def main() -> int:
    stage()
    write_reference(SOURCE / "reference")
    write_reports(SOURCE / "_extra" / "reports")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-E",
        "-j",
        "auto",
        "-c",
        str(Path(__file__).parent),
    ]
    done = subprocess.run([*command, "-d", str(SITE / "doctrees"), str(SOURCE), str(OUTPUT)], check=False)
    if done.returncode:
        return done.returncode
    broken = broken_links(OUTPUT) + blank_pictures(SOURCE / "gallery" / "images")
    for link in broken:
        print(link, file=sys.stderr)
    if not broken:
        print(f"The site is in {OUTPUT.relative_to(ROOT)}; begin with index.html.")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())

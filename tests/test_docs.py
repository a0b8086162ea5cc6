"""Pages: links lead to files and headings that are there, and every warning is on the page of troubleshooting."""

import ast
import doctest
import re
from pathlib import Path

import pytest

import spkm

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "paper/*.md", "paper/docs/*.md", "paper/results/*.md")
    for page in ROOT.glob(pattern)
)
TROUBLES = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page):
    """Return the anchors of a page's headings, as web sites for code make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text()):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{link} leads nowhere"
        assert target.is_relative_to(ROOT), f"{link} leads out of the repository"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def test_rows_of_a_table_have_its_columns():
    """A bar inside a cell begins another cell, and what follows is lost on the page."""
    found = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
            counts = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            found += [(page.name, table[:80])] if len(counts) > 1 else []
    assert found == []


def test_every_page_of_the_guide_has_a_picture():
    without = [
        page.name for page in sorted((ROOT / "docs").glob("*.md")) if "![" not in page.read_text(encoding="utf-8")
    ]
    assert without == []


@pytest.mark.parametrize("name", ["genes", "credit", "pairs", "spectra"])
def test_a_story_leads_to_the_sentence_that_it_begins_with(name):
    """The run of the page prints a sentence; the page quotes it at the top, and the run must allow the quotation."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    quoted = " ".join(line[2:] for line in text.splitlines() if line.startswith("> ")) + "\n"
    printed = [example.want for example in doctest.DocTestParser().get_examples(text) if "print(" in example.source]
    agree = doctest.OutputChecker().check_output
    assert any(agree(want, quoted, doctest.ELLIPSIS) for want in printed)


def warnings():
    """Yield (place, fixed words) of every call that warns, the words between its placeholders."""
    for path in sorted(Path(spkm.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name not in ("warn_user", "warn") or isinstance(node.args[0], ast.Name | ast.BinOp):
                continue  # a text that was made elsewhere, and is found there
            message = node.args[0]
            parts = message.values if isinstance(message, ast.JoinedStr) else [message]
            words = [part.value for part in parts if isinstance(part, ast.Constant)]
            yield pytest.param(words, id=f"{path.stem}:{node.lineno}")


@pytest.mark.parametrize("words", list(warnings()))
def test_a_warning_is_on_the_page(words):
    rows = [line for line in TROUBLES.splitlines() if line.startswith("| `")]
    longest = [word for word in words if len(word.split()) > 2]
    assert longest, "a warning without words"
    pattern = ".*".join(re.escape(word.strip()) for word in longest)
    assert any(re.search(pattern, row) for row in rows), f"docs/troubleshooting.md lacks: {' ... '.join(words)}"

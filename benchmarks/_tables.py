"""Results as CSV files: what a benchmark measured, where and when; and which of them the code has left behind."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import spkm
from benchmarks._captions import CAPTIONS, Caption

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "results"
FEWEST_FOLDED = 4  # rows: fewer are shown with the others
Look = Callable[[str, str], str]  # the cell of a row, by the start of its name, and a column
#: Code that a benchmark measures, beside its own module; those that are not named measure fits.
MEASURES = {
    "cca": ("src/spkm/cca", "src/spkm/kernels"),
    "explain": ("src/spkm/explain",),
    "planted": ("src/spkm/explain",),
    "report": ("src/spkm/inspection",),
    "model_files": ("src/spkm/persistence",),
    "serve": ("src/spkm/persistence", "src/spkm/cli/service.py"),
    "gradient": ("src/spkm/kernels", "src/spkm/losses", "src/spkm/penalties.py", "src/spkm/core/objective.py"),
    "passes": ("src/spkm/kernels", "src/spkm/sources", "src/spkm/core/objective.py"),
    "exactness": ("src/spkm/core/fitted.py", "src/spkm/kernels", "src/spkm/selection"),
}
FITS = (
    "kernels",
    "losses",
    "penalties.py",
    "solvers",
    "starts.py",
    "evidence.py",
    "profiled.py",
    "estimators",
)
#: Benchmarks of fits that select features.
SELECTS = (
    "compare fdr lassonet_time noise_columns parity path_settings search_settings search_time selection_panel "
    "simulated small_sets very_wide wide_sets"
).split()


@dataclass
class Table:
    """The table of one benchmark, and the facts it depends on (processor, versions, date, commit, command)."""

    name: str
    columns: tuple[str, ...]
    rows: list[list[str]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path = FOLDER) -> Path:
        """Write NAME.csv: lines of facts that begin with #, the header, the rows. It replaces files of the halves."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.csv"
        name = re.sub("_[AB]$", "", self.name)
        for other in (f"{name}_A", f"{name}_B") if name == self.name else (name,):
            (folder / f"{other}.csv").unlink(missing_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            file.writelines(f"# {key}: {value}\n" for key, value in self.facts.items())
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(self.rows)
        return path

    @classmethod
    def read(cls, path: Path) -> Table:
        """Return the results of a file that `write` wrote."""
        lines = path.read_text(encoding="utf-8").splitlines()
        facts = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
        header, *rows = csv.reader(line for line in lines if not line.startswith("# "))
        return cls(path.stem, tuple(header), rows, facts)

    def has_goals(self) -> bool:
        """Return whether a row has a figure that was to be reached."""
        return "reach" in self.columns and any(row[self.columns.index("reach")] for row in self.rows)

    def markdown(self) -> str:
        """Return the table in Markdown, without empty columns; figures that miss what was to be reached are bold."""
        kept = [k for k in range(len(self.columns)) if any(row[k] for row in self.rows)]

        def line(cells: Sequence[str]) -> str:
            shown = (f"**{cells[k][:-2]}**" if cells[k].endswith(" *") else cells[k] for k in kept)
            shown = (re.sub("([≥≤<>±]) (?=[-+0-9])", "\\1\u00a0", cell) for cell in shown)  # stay on one line
            return "| " + " | ".join(cell.replace("|", "\\|") for cell in shown) + " |"

        head = ["goal" if column == "reach" else column for column in self.columns]
        return "\n".join([line(head), "|" + " --- |" * len(kept), *map(line, self.rows)])


def tables(folder: Path = FOLDER) -> list[Path]:
    """Return the files of a folder that hold tables: those that begin with facts; others hold single outcomes."""
    return [path for path in sorted(folder.glob("*.csv")) if path.read_text(encoding="utf-8").startswith("# ")]


def parts(name: str, folder: Path = FOLDER) -> list[Path]:
    """Return the files of a benchmark: NAME.csv, or those of runs of one half each, NAME_A.csv and NAME_B.csv."""
    whole = folder / f"{name}.csv"
    return [whole] if whole.exists() else [p for half in "AB" if (p := folder / f"{name}_{half}.csv").exists()]


GOALS = "Goals were set before the measurement; a figure in bold misses its goal."
CELL = re.compile(
    r"(?P<mark><!-- cell: (?P<name>\w+); (?P<row>[^>;]+); (?P<column>[^>;]+) -->)(?P<text>[^<]*)<!-- \. -->"
)
MARKS = re.compile(
    r"(?P<mark><!-- results: (?P<name>\w+)(?:, (?P<start>[^>;]+))?"
    r"(?:; first (?P<first>[^>]+))? -->)\n"
    r"(?:.*?\n)??<!-- end -->",
    re.DOTALL,
)


def filled(text: str, folder: Path = FOLDER) -> str:
    """Return a page with the tables of results between its marks.

    ``<!-- results: NAME -->`` begins a table, ``<!-- results: NAME, TEXT -->`` one of the rows that begin with TEXT;
    ``<!-- end -->`` ends it. After that, ``; first EXPRESSION`` shows rows in which the expression is found, and folds
    the others below them. The sentence and the titles of columns are those of :mod:`benchmarks._captions`.
    """

    def table(match: re.Match[str]) -> str:
        found = [Table.read(path) for path in parts(match["name"], folder)]
        about = CAPTIONS.get(match["name"], Caption(""))
        for results in found:
            results.columns = titled(results.columns, about.titles)
            results.rows = [row for row in results.rows if row[0].startswith(match["start"] or "")]
        absent = f"*Not measured with this version yet; `python -m benchmarks {match['name']}` does.*"
        blocks = folded([results for results in found if results.rows], match["first"] or "")
        goals = [GOALS] if any(results.has_goals() for results in found) else []
        sentences = " ".join(filter(None, [about.sentence, *goals]))
        shown = [*filter(None, [sentences]), *blocks] if blocks else [absent]
        return f"{match['mark']}\n\n" + "\n\n".join(shown) + "\n\n<!-- end -->"

    return MARKS.sub(table, text)


def titled(columns: tuple[str, ...], titles: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of a file with the titles that a page shows: those before "measured" stay."""
    first = columns.index("measured") if titles else len(columns)
    if titles and len(titles) != len(columns) - first:
        raise ValueError(f"{len(titles)} titles for the columns {columns[first:]}; mend benchmarks/_captions.py.")
    return (*columns[:first], *titles)


def look_in(benchmark: str, folder: Path) -> Look:
    """Return the function that finds cells of the tables of a benchmark; KeyError where there is none."""
    tables = [Table.read(path) for path in parts(benchmark, folder)]

    def look(start: str, column: str) -> str:
        for table in tables:
            for row in table.rows:
                if row[0].startswith(start):
                    places = [k for k, name in enumerate(table.columns) if name.startswith(column)]
                    k = min(places, key=lambda k: len(table.columns[k]), default=None)
                    return "" if k is None else re.sub(r"( \([^)]*\))?( \*)?$", "", row[k])
        raise KeyError(f"{benchmark}.csv has no row that begins with {start!r}.")

    return look


def with_cells(text: str, folder: Path = FOLDER) -> str:
    """Return a page whose sentences have the figures of the tables.

    ``<!-- cell: NAME; ROW; COLUMN -->...<!-- . -->`` holds a cell of the table of a benchmark, by how the names of the
    row and the column begin. Where there is no such row the text stays.
    """

    def cell(match: re.Match[str]) -> str:
        try:
            value = look_in(match["name"], folder)(match["row"], match["column"])
        except KeyError:
            return match[0]
        return f"{match['mark']}{value}<!-- . -->"

    return CELL.sub(cell, text)


def folded(found: list[Table], first: str) -> list[str]:
    """Return the blocks of a page: the rows that come first, the facts, and all other rows in a part that unfolds."""
    shown, more = [], []
    for columns in dict.fromkeys(results.columns for results in found):  # halves have the same
        rows = [row for results in found if results.columns == columns for row in results.rows]
        ahead = [row for row in rows if re.search(first, row[0])]
        if not ahead or len(rows) - len(ahead) < FEWEST_FOLDED:
            ahead = rows
        shown.append(Table("", columns, with_names(ahead)).markdown())
        if len(ahead) < len(rows):
            rest = [row for row in rows if row not in ahead]
            summary = f"<details>\n<summary>The other {len(rest)} rows</summary>"
            more += [summary, Table("", columns, with_names(rest)).markdown(), "</details>"]
    return [*shown, *more, *map(caption, found)]


def with_names(rows: list[list[str]]) -> list[list[str]]:
    """Return rows as a page shows them: "ours" of the files is the name of the library."""
    return [[re.sub(r"\bours\b", "spkm", row[0]), *row[1:]] for row in rows]


def version_of(facts: dict[str, str]) -> str:
    """Return the version of the library that a table was measured with; "" if it is today's."""
    found = re.match(r"spkm ([^,\s]+)", facts.get("versions", ""))
    return found[1] if found and found[1] != spkm.__version__ else ""


def caption(results: Table) -> str:
    """Return the facts of a table in small print; a version of the library that is not today's comes first, in bold."""
    told = ("date", "commit", "took", "note", "processor", "versions")
    older = f"**Measured with spkm {version}.** " if (version := version_of(results.facts)) else ""
    command = [f"`{results.facts['command']}`"] if "command" in results.facts else []
    return (
        f"<small>{older}{'; '.join([*command, *(results.facts[key] for key in told if key in results.facts)])}</small>"
    )


def fill_pages() -> list[str]:
    """Write the tables of results into the pages that show them; return the names of the pages that changed."""
    changed = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        if (after := with_cells(filled(before))) != before:
            page.write_text(after, encoding="utf-8")
            changed.append(page.name)
    return changed


def today() -> dict[str, str]:
    """Return the date, and the commit of the code if it is that of a commit."""
    commit = _git("rev-parse", "--short=10", "HEAD")
    changed = _git("status", "--porcelain", "--", "src", "benchmarks/*.py")
    return {"date": date.today().isoformat(), "commit": commit + ("+" if changed else "") if commit else "unknown"}


def changes_since(results: Table, git: Callable[..., str | None] | None = None) -> list[str]:
    """Return the commits since the results were written that touch what they measure, newest first.

    Where the commit is not in the history any more, as after a rebase, those since the end of that day count.
    """
    name = re.sub("_[AB]$", "", results.name)
    fits = (*FITS, "selection") if name in SELECTS else FITS
    paths = MEASURES.get(name, tuple(f"src/spkm/{part}" for part in fits))
    own = f"benchmarks/choices/{name}.py"
    paths = (*paths, own if (ROOT / own).exists() else f"benchmarks/{name}.py")
    commit = results.facts.get("commit", "").rstrip("+")
    git = git or _git
    known = git("merge-base", "--is-ancestor", commit, "HEAD") is not None
    since = f"{commit}..HEAD" if known else f"--since={results.facts['date']} 23:59"
    return (git("log", "--format=%h %s", since, "--", *paths) or "").splitlines()


def stale(folder: Path = FOLDER, changes: Callable[[Table], list[str]] = changes_since) -> list[str]:
    """Return a line for every file of results: up to date, or how many commits behind."""
    lines = []
    for path in tables(folder):
        results = Table.read(path)
        behind = changes(results)
        last = f"{len(behind)} commits since then touch it, the last: {behind[0]}" if behind else "up to date"
        version = results.facts.get("versions", "spkm ?").split(",")[0]
        lines.append(f"{results.name} ({version}, {results.facts['date']}, {results.facts['commit']}): {last}")
    return lines


def _git(*arguments: str) -> str | None:
    """Return what git says, None where it fails or is absent."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None

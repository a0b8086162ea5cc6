"""Files of benchmark results: they are read as they were written, and the code that left them behind is named."""

import re

import numpy as np
import pytest

import spkm
from benchmarks._captions import CAPTIONS
from benchmarks._figures import Dots, Lines, draw_all
from benchmarks._front import with_figures, with_ranks
from benchmarks._tables import (
    CELL,
    FOLDER,
    MARKS,
    ROOT,
    Table,
    changes_since,
    filled,
    look_in,
    parts,
    stale,
    tables,
    titled,
    with_cells,
)
from benchmarks._whole import names
from benchmarks.ranks import COLUMNS, rank_rows


def test_results_are_read_as_they_were_written(tmp_path):
    rows = [["accuracy, 5 | 10", "≥ 1.00", "0.50 *"], ['with "quotes"\tand tabs', "", "2"]]
    written = Table(
        "some", ("what", "reach", "measured"), rows, {"date": "2026-01-31", "commit": "abc", "command": "a: b"}
    )
    read = Table.read(written.write(tmp_path))
    assert read == written


def test_a_table_marks_what_is_missed():
    results = Table("some", ("what", "reach", "measured"), [["a | b", "≥ 1", "0.5 *"]])
    assert results.markdown().splitlines()[-1] == "| a \\| b | ≥\u00a01 | **0.5** |"


def test_a_page_says_what_goals_are_where_there_are_some(tmp_path):
    for reach, said in (("≥ 1", True), ("", False)):
        Table("some", ("what", "reach", "measured"), [["a", reach, "0.5"]], {"date": "2026-01-31"}).write(tmp_path)
        assert ("misses its goal" in filled("<!-- results: some -->\n\n<!-- end -->", tmp_path)) == said


def test_a_page_names_the_library(tmp_path):
    Table("some", ("what", "measured"), [["hours: ours", "0.5"]], {"date": "2026-01-31"}).write(tmp_path)
    assert "| hours: spkm | 0.5 |" in filled("<!-- results: some -->\n\n<!-- end -->", tmp_path)


def test_changes_are_those_of_the_code_that_is_measured():
    asked = []

    def git(*arguments):
        asked.append(arguments)
        return {"merge-base": None, "log": "abc explain: a change"}[arguments[0]]

    results = Table("explain", (), facts={"date": "2026-01-31", "commit": "gone"})
    assert changes_since(results, git) == ["abc explain: a change"]
    assert asked[-1][2:] == ("--since=2026-01-31 23:59", "--", "src/spkm/explain", "benchmarks/explain.py")


def test_every_file_of_results_tells_where_it_comes_from():
    files = tables()
    for path in files:
        results = Table.read(path)
        assert {"date", "commit", "command", "processor", "versions"} <= set(results.facts)
        assert results.rows and {len(row) for row in results.rows} == {len(results.columns)}
    assert len(stale()) == len(files)


@pytest.mark.parametrize("changed", [True, False])
def test_results_say_whether_they_are_stale(tmp_path, changed):
    Table("some", ("what",), [["a"]], {"date": "2026-01-31", "commit": "abc"}).write(tmp_path)
    told = stale(tmp_path, lambda results: ["abc a change"] * changed)
    assert told[0].endswith("the last: abc a change" if changed else "up to date")


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_pages_show_the_results_of_the_files(page):
    text = page.read_text(encoding="utf-8")
    assert with_cells(filled(text)) == text, "run python -m benchmarks --pages"
    for cell in CELL.finditer(text):
        assert look_in(cell["name"], FOLDER)(cell["row"], cell["column"]) == cell["text"]


def test_the_list_of_numbers_holds_questions_alone():
    lines = (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8").splitlines()
    assert [
        line for line in lines if line.startswith("|") and not line.startswith(("| [", "| question", "| ---"))
    ] == []


def test_the_readme_shows_the_figures_of_the_files():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert with_figures(text) == text, "run python -m benchmarks --pages"
    commands = re.findall(r"\| `(\w+)[^`|]*`(?: \(spkm [\d.]+\))? \|$", text, re.MULTILINE)
    assert len(commands) >= 5 and set(commands) <= set(names())


@pytest.mark.parametrize("page", ("README.md", "docs/index.md", "docs/numbers/ranks.md"))
def test_pages_show_the_ranks_of_the_file(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert with_ranks(text) == text and "| method | mean rank |" in text, "run python -m benchmarks --pages"


def test_ranks_are_sorted_with_their_errors_and_losses(tmp_path):
    scores = np.array([[90.0, *range(80, 88)], [90.0, *range(91, 99)]])
    rows = [
        [row.what, *([row.measured] if isinstance(row.measured, str) else [f"{row.measured:.2f}"]), *row.more]
        for row in rank_rows("all, both halves: mean rank by accuracy or R²", -scores)
    ]
    for what, cell in (("wins/losses", "1/1"), ("ours minus theirs", "+2.0"), ("worst", "-1.0 wine")):
        rows.append([f"all, both halves: {what}", "", *[cell] * len(COLUMNS)])
    assert with_ranks("<!-- ranks -->\n<!-- end -->", tmp_path) == "<!-- ranks -->\n<!-- end -->"
    Table("ranks", ("what", "measured", *COLUMNS), rows, {"command": "python -m benchmarks ranks"}).write(tmp_path)
    page = with_ranks("<!-- ranks -->\n<!-- end -->", tmp_path).replace("\u00a0", " ")
    lines = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert len(lines) == 9 and lines[0] == "| linear model | 1.50 ± 0.50 | 1/1 | +2.0 | -1.0 wine |"
    assert "| **spkm, defaults** | **5.00 ± 4.00** |" in page


def test_the_readme_has_no_figure_without_results(tmp_path):
    text = "Before\n<!-- figures -->\n<!-- end -->\nafter"
    assert with_figures(text, tmp_path).count("\n|") == 2
    facts = {"command": "python -m benchmarks panel_classes", "versions": "spkm 0.0.9, Python 3.11"}
    rows = [[f"two classes, half {half}: accuracy minus tuned SVC, mean", "+0.60 *", "± 0.54"] for half in "AB"]
    Table("panel_classes", ("what", "measured", "error"), rows, facts).write(tmp_path)
    page = with_figures(text, tmp_path)
    assert page.count("\n|") == 3
    assert "| 0 | +0.60 ± 0.54 / +0.60 ± 0.54 points | `panel_classes` (spkm 0.0.9) |" in page
    Table("panel_classes", ("what", "measured", "error"), rows[:1], facts).write(tmp_path)
    with pytest.raises(KeyError, match=r"panel_classes\.csv has no row"):
        with_figures(text, tmp_path)


def test_a_page_may_show_some_rows(tmp_path):
    Table("some", ("what", "measured"), [["a: x", "1"], ["b: x", "2"]], {"date": "2026-01-31"}).write(tmp_path)
    page = filled("<!-- results: some, b: -->\n<!-- end -->", tmp_path)
    assert "| b: x | 2 |" in page and "a: x" not in page and filled(page, tmp_path) == page


def test_a_sentence_has_the_figure_of_its_table(tmp_path):
    Table("some", ("what", "measured", "columns"), [["a: x", "1.5 *", "7.0 (≤ 8)"]], {}).write(tmp_path)
    page = "It has <!-- cell: some; a; measured -->?<!-- . --> with <!-- cell: some; a; col -->?<!-- . -->."
    page = with_cells(page, tmp_path)
    assert "-->1.5<!-- . --> with" in page and "-->7.0<!-- . -->." in page and with_cells(page, tmp_path) == page
    without = "<!-- cell: some; b; measured -->2<!-- . -->"
    assert with_cells(without, tmp_path) == without


def test_a_page_shows_the_sentence_and_the_titles_of_a_table(tmp_path):
    Table("gradient", ("what", "reach", "measured"), [["a", "", "1"]], {}).write(tmp_path)
    page = filled("<!-- results: gradient; first a -->\n<!-- end -->", tmp_path)
    assert f"-->\n\n{CAPTIONS['gradient'].sentence}\n\n| what | largest error |" in page
    assert filled(page, tmp_path) == page
    with pytest.raises(ValueError, match="2 titles for the columns"):
        titled(("what", "measured"), ("a", "b"))


def test_every_table_has_a_sentence_with_its_direction_and_titles_that_differ():
    shown = {mark["name"] for page in (ROOT / "docs").rglob("*.md") for mark in MARKS.finditer(page.read_text("utf-8"))}
    measured = {re.sub("_[AB]$", "", path.stem) for path in tables()}
    assert shown | measured <= set(CAPTIONS) <= set(names())
    for name, about in CAPTIONS.items():
        assert re.search(r"\b(better|best|right|faster)\b", about.sentence) and about.sentence.endswith("."), name
        assert about.sentence.count(". ") == 0, f"{name}: one sentence"
        for path in parts(name):
            shown_columns = titled(Table.read(path).columns, about.titles)
            assert len(set(shown_columns)) == len(shown_columns), f"{name}: two columns of one title"
            assert "error" not in shown_columns, f"{name}: say which error"


def test_rows_of_detail_are_folded(tmp_path):
    for half in "AB":
        rows = [[f"{half}: {k}", f"{k}"] for k in range(5)] + [[f"**{half}**: mean", "2"]]
        Table(f"some_{half}", ("what", "measured"), rows, {"date": "2026-01-31"}).write(tmp_path)
    page = filled("<!-- results: some; first mean -->\n<!-- end -->", tmp_path)
    ahead, rest = page.split("<details>\n<summary>The other 10 rows</summary>\n\n")
    assert ahead.count("\n|") == 4 and "| **A**: mean | 2 |\n| **B**: mean | 2 |" in ahead
    assert rest.count("\n|") == 11 and rest.count("</details>\n\n<small>2026-01-31</small>") == 1
    assert filled(page, tmp_path) == page
    few = filled("<!-- results: some, A; first [01] -->\n<!-- end -->", tmp_path)
    assert "<details>" not in few and few.count("\n|") == 7, "three rows are not worth a click"


def test_a_page_is_filled_between_its_marks(tmp_path):
    facts = {"date": "2026-01-31", "commit": "abc", "command": "python -m benchmarks some"}
    Table("some", ("what", "measured"), [["a", "1"]], facts).write(tmp_path)
    once = filled(
        "Before\n<!-- results: some -->\n<!-- end -->\nbetween\n<!-- results: none -->\n<!-- end -->\nafter", tmp_path
    )
    assert "between\n<!-- results: none -->\n\n*Not measured" in once
    assert "| a | 1 |" in once and "`python -m benchmarks some`; 2026-01-31" in once
    assert once.startswith("Before") and once.endswith("after") and filled(once, tmp_path) == once


def test_halves_are_shown_one_after_the_other(tmp_path):
    for half, version in (("A", spkm.__version__), ("B", "0.0.9")):
        facts = {"date": "2026-01-31", "commit": "abc", "versions": f"spkm {version}, Python 3.11"}
        Table(f"some_{half}", ("what", "measured"), [[half, "1"]], facts).write(tmp_path)
    page = filled("<!-- results: some -->\n<!-- end -->", tmp_path)
    assert page.index("| A | 1 |") < page.index("| B | 1 |")
    assert page.count("Measured with spkm") == page.count("**Measured with spkm 0.0.9.**") == 1
    assert filled(page, tmp_path) == page
    Table("some", ("what",), [["a"]], facts).write(tmp_path)
    assert [path.name for path in parts("some", tmp_path)] == ["some.csv"]
    Table("some_B", ("what",), [["a"]], facts).write(tmp_path)
    assert [path.name for path in parts("some", tmp_path)] == ["some_B.csv"]


def test_a_figure_has_a_dot_for_every_row_that_matches(tmp_path):
    rows = [["a: ours", "0.056", "± 0.01"], ["b: ours", "1e-3 *", ""], ["a: theirs", "0.2", ""], ["c: ours", "", ""]]
    Table("some", ("what", "measured", "error"), rows, {"date": "2026-01-31"}).write(tmp_path)
    dots = Dots("some", r"(.+): ours$", "measured", ("error",), (0.1, "goal"), "a label")
    (a, value, low, high), b = dots.points(tmp_path)
    assert (a, value) == ("a", 0.056) and (low, high) == pytest.approx((0.046, 0.066))
    assert b == ("b", 0.001, 0.001, 0.001)
    both = Dots("some", r"(.+): ours$", "measured", (), None, "a label", beside=("error", "its error"))
    assert both.rings(tmp_path) == {"a": 0.01} and dots.rings(tmp_path) == {}
    Table("ends", ("what", "measured", "least", "most"), [["a", "2", "1", "4"]], {"date": "2026-01-31"}).write(tmp_path)
    assert Dots("ends", "(.+)", "measured", ("least", "most"), None, "a label").points(tmp_path) == [("a", 2, 1, 4)]


def test_a_figure_has_a_line_for_every_row_that_matches(tmp_path):
    rows = [
        ["R²: ours, 1 vector", "", "50.0", "60.0"],
        ["R²: theirs, 1 vector", "", "40.5", ""],
        ["time", "", "2", "3"],
    ]
    table = Table("vectors", ("what", "reach", "measured", "20"), rows, {"date": "2026-01-31"})
    table.write(tmp_path)
    lines = Lines("vectors", r"(.+): (.+), (1) vector$", "number").lines(tmp_path)
    assert lines == {"R²": {"ours": [(1, 50.0), (20, 60.0)], "theirs": [(1, 40.5)]}}
    assert draw_all(tmp_path, tmp_path) == ["vectors.png"] and (tmp_path / "vectors.png").stat().st_size > 1000


def test_a_column_is_found_by_its_whole_name_first(tmp_path):
    (tmp_path / "made.csv").write_text("what,reach,measured,boosted tuned,boosted\nrank,,1,2,3\n", encoding="utf-8")
    look = look_in("made", tmp_path)
    assert (look("rank", "boosted"), look("rank", "boosted tuned"), look("rank", "none")) == ("3", "2", "")

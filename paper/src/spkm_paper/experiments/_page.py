"""One HTML page with everything on it, which needs no other file and no network."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._tables import TEST_NOTE
from spkm_paper.experiments._tasks import Experiment, Result

QUICK_NOTE = "A quick run: few samples, splits and parameters. Its numbers say that everything works, and nothing else."

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1.5rem; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.7rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid #222; } tbody tr:nth-child(even) { background: #f4f4f4; }
.wide { overflow-x: auto; } figure { margin: 1.5rem 0; } figure img { max-width: 100%; }
figcaption, .notes { font-size: 0.9rem; color: #555; }
.problem { border-left: 4px solid #D55E00; padding-left: 1.8rem; }
code { background: #f4f4f4; padding: 0 0.2rem; }
"""


@dataclass(frozen=True)
class Section:
    """An experiment with what came of it.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    command, date : str
        How and when it was last run.
    results : sequence of Result
        Of the tasks that were planned, as far as they are done.
    n_planned : int
        How many were planned.
    quick : bool
        Whether they are those of a quick run.
    skipped : mapping of str to str
        Data sets that were left out, and why.
    blocks : sequence of Table or Figure
        The report.
    images : mapping of str to bytes
        Figures as SVG, by name.
    """

    experiment: Experiment
    command: str
    date: str
    results: Sequence[Result]
    n_planned: int
    quick: bool
    skipped: Mapping[str, str]
    blocks: Sequence[Table | Figure]
    images: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def remarks(self) -> list[str]:
        """What is missing from the report or doubtful about it."""
        failed = [result for result in self.results if result.failed]
        absent = self.n_planned - len(self.results)
        warned = sum(bool(result.warnings) for result in self.results)
        lines = [QUICK_NOTE] if self.quick else []
        lines += [f"Skipped: {name}. {reason}" for name, reason in self.skipped.items()]
        if absent:
            lines.append(f"{absent} of {self.n_planned} runs are not done yet; the same command goes on with them.")
        lines += [f"Failed: {r.task}: {(r.error or '').splitlines()[-1]}" for r in failed]
        if warned:
            example = next(result.warnings[0] for result in self.results if result.warnings)
            lines.append(f"{warned} of {len(self.results)} runs gave warnings, such as {example}")
        return lines

    @property
    def about(self) -> str:
        """The protocol, and how to read the tables."""
        compares = any("Δ" in block.columns for block in self.blocks if isinstance(block, Table))
        return f"{self.experiment.about} {TEST_NOTE}" if compares else self.experiment.about

    @property
    def origin(self) -> str:
        """When it was run, and with which seeds."""
        seeds = sorted({result.task.seed for result in self.results})
        return f"{self.date}, seeds {', '.join(map(str, seeds))}"

    def markdown(self) -> str:
        """Return the report as Markdown; figures are files beside it."""
        parts = [f"# {self.experiment.title}", self.about, f"`{self.command}`, {self.origin}"]
        for block in self.blocks:
            if isinstance(block, Table):
                parts.append(block.markdown().rstrip())
            elif block.name in self.images:
                parts.append(f"![{block.caption}]({block.name}.png)\n\n{block.caption}")
        if self.remarks:
            parts.append("\n".join(f"- {line}" for line in self.remarks))
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """Return the report as a part of the page."""
        name = html.escape(self.experiment.name)
        parts = [
            f'<section id="{name}">',
            f"<h2>{html.escape(self.experiment.title)}</h2>",
            f"<p>{html.escape(self.about)}</p>",
            f'<p class="notes"><code>{html.escape(self.command)}</code>, {html.escape(self.origin)}; '
            f"every run is in <code>{name}.csv</code></p>",
        ]
        if self.remarks:
            items = "".join(f"<li>{html.escape(line)}</li>" for line in self.remarks)
            parts.append(f'<ul class="problem">{items}</ul>')
        for block in self.blocks:
            if isinstance(block, Table):
                parts.append(block.html())
            elif block.name in self.images:
                # As an image rather than as SVG in the page, where the names inside two figures would collide.
                picture = base64.b64encode(self.images[block.name]).decode()
                caption = html.escape(block.caption)
                parts.append(
                    f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{picture}">'
                    f"<figcaption>{caption}</figcaption></figure>"
                )
        return "\n".join([*parts, "</section>"])


def by_reason(skipped: Mapping[str, str]) -> list[str]:
    """Return a line for each reason: what was skipped for it, and the reason.

    Examples
    --------
    >>> by_reason({"table1: a": "no file", "table2: a": "no file", "table2: b": "broken"})
    ['table1: a; table2: a. no file', 'table2: b. broken']
    """
    names: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        names.setdefault(reason, []).append(name)
    return [f"{'; '.join(of)}. {reason}" for reason, of in names.items()]


def page(sections: Sequence[Section], facts: Mapping[str, str], skipped: Mapping[str, str]) -> str:
    """Return the page.

    Parameters
    ----------
    sections : sequence of Section
        Experiments that ran.
    facts : mapping of str to str
        Versions and the machine.
    skipped : mapping of str to str
        Experiments and data sets that this call left out, and why.
    """
    links = "".join(
        f'<li><a href="#{html.escape(s.experiment.name)}">{html.escape(s.experiment.title)}</a></li>' for s in sections
    )
    versions = "".join(f"<tr><td>{html.escape(k)}</td><td>{html.escape(v)}</td></tr>" for k, v in facts.items())
    absent = "".join(f"<li>{html.escape(line)}</li>" for line in by_reason(skipped))
    title = "Learning primal-dual sparse kernel machines, reproduced"
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{STYLE}</style></head>
<body>
<h1>{title}</h1>
<p>The experiments of Huusari, Bhadra, Capponi, Kadri and Rousu (arXiv 2108.12199), run again with spkm. The column
&ldquo;paper&rdquo; holds the paper&rsquo;s number, whatever ours is; it gives no splits, so the two are of different
samples of the same data.</p>
<ul>{links}</ul>
{f'<p>Skipped:</p><ul class="problem">{absent}</ul>' if absent else ""}
{chr(10).join(section.html() for section in sections)}
<h2>Made with</h2>
<table><tbody>{versions}</tbody></table>
</body></html>
"""

"""Follow the internal links of a built site: files and anchors."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := found.get(name)))
        self.links += [value for name in ("href", "src") if (value := found.get(name))]


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken_links(folder: Path) -> list[str]:
    """Return a line for every internal link of the HTML pages in a folder that leads nowhere."""
    broken = []
    for path in sorted(folder.rglob("*.html")):
        if path.relative_to(folder).parts[0] == "_static":  # parts of the theme, no pages
            continue
        for link in dict.fromkeys(_read(path).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            is_page = target.suffix == ".html" and target.parent.name != "reports"  # a report makes its anchors itself
            lacks_anchor = is_page and parts.fragment and target.exists()
            if not target.exists() or (lacks_anchor and unquote(parts.fragment) not in _read(target).anchors):
                broken.append(f"{path.relative_to(folder)}: {link} leads nowhere")
    return broken

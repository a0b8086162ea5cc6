"""The page of troubleshooting has every warning that the library can give."""

import ast
import re
from pathlib import Path

import pytest

import spkm

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")


def texts():
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


@pytest.mark.parametrize("words", list(texts()))
def test_a_warning_is_on_the_page(words):
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    longest = [word for word in words if len(word.split()) > 2]
    assert longest, "a warning without words"
    pattern = ".*".join(re.escape(word.strip()) for word in longest)
    assert any(re.search(pattern, row) for row in rows), f"docs/troubleshooting.md lacks: {' ... '.join(words)}"

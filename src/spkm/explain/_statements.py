"""The small language of statements about a model: claims, and regions.

statement  = claim ["where" condition {"and" condition}]
claim      = quantity comparison (number | "?")
           | "changing" name "moves" quantity "by" comparison (number | "?")
           | "difference of" quantity comparison (number | "?")
           | quantity ("rises" | "falls") "with" name
           | "prediction is" name
quantity   = ("score" | "probability" | "prediction") ["of" name]
comparison = "<=" | "<" | ">=" | ">"
condition  = name comparison number | number comparison name comparison number
           | name "=" value | name "in" "{" value {"," value} "}"
name       = a word, or any text in quotes or backticks
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf, nextafter
from typing import Any

TOKEN = re.compile(
    r"""\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))"""
    r"""|(?P<quoted>"[^"]*"|'[^']*'|`[^`]*`)"""
    r"""|(?P<sign><=|>=|==|[<>={},?≤≥])"""
    r"""|(?P<word>[^\s<>={},?≤≥"'`]+))"""
)
QUANTITIES = ("score", "probability", "prediction")
PLURALS = {"scores": "score", "probabilities": "probability", "predictions": "prediction"}
SIGNS = {"<=": -1, "<": -1, ">=": 1, ">": 1}
SAME = {"≤": "<=", "≥": ">=", "==": "="}
FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
FORMS = (
    "'score <= 0.8 where age < 25', 'probability of yes >= 0.1 where job in {nurse, baker}', 'score rises with "
    "income', 'changing sex moves probability by <= 0.05', 'prediction is yes where 20 <= age <= 30', 'difference of "
    "scores <= 0.1'"
)


@dataclass(frozen=True)
class Condition:
    """A condition on one feature: limits of a number, or levels of a category."""

    name: str
    low: float = float("-inf")
    high: float = float("inf")
    levels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Statement:
    """A parsed statement."""

    text: str  # as it was given
    kind: str  # of claim: "limit", "change", "difference", "direction" or "class"
    quantity: str = "score"  # or "probability" or "prediction"
    output: str | None = None  # its name, if one is named
    sign: int = -1  # -1 if the quantity is to stay at or below the number, or falls; 1 for above, or rises
    number: float | None = None  # None if it is sought
    feature: str | None = None  # the one that is changed, or that the quantity rises with
    conditions: tuple[Condition, ...] = ()  # the region
    strict: bool = False  # whether the comparison leaves the number itself out


def parse(text: str) -> Statement:
    """Return a statement taken apart; ValueError if it is none."""
    if not isinstance(text, str):
        raise TypeError(f"statement must be a string such as {FORMS.split(', ')[0]}; got {text!r}.")
    return _Parser(text).statement()


@dataclass
class _Parser:
    text: str
    tokens: list[tuple[str, str]] = field(init=False)
    place: int = 0

    def __post_init__(self) -> None:
        self.tokens, at, text = [], 0, self.text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise self.error(f"it has {text[at:].strip()[:20]!r}")
            kind = str(match.lastgroup)
            word = match.group(kind)
            self.tokens.append((kind, word[1:-1] if kind == "quoted" else SAME.get(word, word)))
            at = match.end()

    def error(self, why: str) -> ValueError:
        return ValueError(f"statement {self.text!r} is not understood: {why}. Examples: {FORMS}.")

    def peek(self, *words: str) -> bool:
        """Whether the next token is one of some words or signs."""
        if self.place >= len(self.tokens):
            return False
        kind, word = self.tokens[self.place]
        return kind in ("word", "sign") and word.lower() in words

    def accept(self, *words: str) -> bool:
        """Whether the next token is one of some words; it is passed over then."""
        found = self.peek(*words)
        self.place += found
        return found

    def take(self, *words: str) -> str:
        """Return the next token, which must be one of the words."""
        if not self.accept(*words):
            raise self.error(f"{' or '.join(map(repr, words))} is missing {self.here()}")
        return self.tokens[self.place - 1][1].lower()

    def here(self) -> str:
        return f"before {self.tokens[self.place][1]!r}" if self.place < len(self.tokens) else "at the end"

    def next_is(self, *kinds: str) -> bool:
        return self.place < len(self.tokens) and self.tokens[self.place][0] in kinds

    def next_of(self, what: str, *kinds: str) -> str:
        """Return the next token, which must be of one of the kinds."""
        if not self.next_is(*kinds):
            raise self.error(f"{what} is missing {self.here()}")
        self.place += 1
        return self.tokens[self.place - 1][1]

    def name(self) -> str:
        return self.next_of("the name of a feature", "word", "quoted")

    def number(self) -> float:
        return float(self.next_of("a number", "number"))

    def value(self, what: str = "a value") -> str:
        return self.next_of(what, "word", "quoted", "number")

    def statement(self) -> Statement:
        known = self.claim()
        conditions: list[Condition] = []
        while self.accept("and" if conditions else "where"):
            conditions.append(self.condition())
        if self.place < len(self.tokens):
            raise self.error(f"nothing goes on {self.here()}")
        return Statement(self.text, conditions=tuple(conditions), **known)

    def claim(self) -> dict[str, Any]:
        if self.accept("changing"):
            feature = self.name()
            self.take("moves")
            quantity = self.quantity()
            self.take("by")
            return {"kind": "change", "feature": feature, **quantity, **self.comparison("<=", "<")}
        if self.accept("difference"):
            self.take("of")
            return {"kind": "difference", **self.quantity(), **self.comparison("<=", "<")}
        quantity = self.quantity()
        if self.peek("rises", "falls"):
            sign = 1 if self.take("rises", "falls") == "rises" else -1
            self.take("with")
            return {"kind": "direction", "feature": self.name(), "sign": sign, **quantity}
        if quantity["quantity"] == "prediction" and self.accept("is"):
            return {"kind": "class", "output": self.value("a class"), "sign": 1}
        return {"kind": "limit", **quantity, **self.comparison(*SIGNS)}

    def quantity(self) -> dict[str, Any]:
        word = self.take(*QUANTITIES, *PLURALS)
        output = self.value("the name of an output") if self.accept("of") else None
        return {"quantity": PLURALS.get(word, word), "output": output}

    def comparison(self, *signs: str) -> dict[str, Any]:
        sign = self.take(*signs)
        number = None if self.accept("?") else self.number()
        return {"sign": SIGNS[sign], "strict": sign in ("<", ">"), "number": number}

    def condition(self) -> Condition:
        if self.next_is("number"):
            first, sign = self.number(), FLIPPED[self.take(*SIGNS)]
            name = self.name()
            one, two = _limit(name, sign, first), self.limit(name)
            return Condition(name, max(one.low, two.low), min(one.high, two.high))
        name = self.name()
        if self.accept("in"):
            self.take("{")
            levels = [self.value()]
            while self.accept(","):
                levels.append(self.value())
            self.take("}")
            return Condition(name, levels=tuple(levels))
        return Condition(name, levels=(self.value(),)) if self.accept("=") else self.limit(name)

    def limit(self, name: str) -> Condition:
        return _limit(name, self.take(*SIGNS), self.number())


def _limit(name: str, sign: str, number: float) -> Condition:
    """Return a limit; a strict one is the next number, so that ``age < 25`` of whole numbers ends at 24."""
    if sign in ("<", ">"):
        number = nextafter(number, inf * SIGNS[sign])
    return Condition(name, low=number) if SIGNS[sign] > 0 else Condition(name, high=number)

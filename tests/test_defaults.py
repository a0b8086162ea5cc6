"""Defaults of parameters, everywhere: what a docstring states is what the code has."""

import ast
import importlib
import inspect
import pkgutil
import re

import spkm

DEFAULT = re.compile(r"(\w+(?:, \w+)*) : .*\bdefault=(.+)")


def documented_defaults(thing):
    """Yield name and value of each default that the docstring of a function or a class states as a literal."""
    for line in (inspect.getdoc(thing) or "").splitlines():
        if found := DEFAULT.fullmatch(line):
            names, text = found[1].split(", "), found[2]
            texts = re.split(", | and ", text) if len(names) > 1 else [text]
            for name, one in zip(names, texts * len(names) if len(texts) == 1 else texts, strict=True):
                try:
                    yield name, ast.literal_eval(one)
                except (ValueError, SyntaxError):
                    continue  # in words


def everything_of(module):
    """Yield all functions and classes of a module, public or not, with the methods of classes."""
    for thing in vars(module).values():
        if getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(thing):
            yield thing
            yield from filter(inspect.isfunction, vars(thing).values())
        elif inspect.isfunction(thing):
            yield thing


def test_defaults_are_those_of_the_docstrings():
    count, wrong = 0, []
    for _, name, _ in pkgutil.walk_packages(spkm.__path__, "spkm."):
        for thing in everything_of(importlib.import_module(name)) if not name.endswith("__main__") else ():
            for key, value in documented_defaults(thing):
                given = inspect.signature(thing).parameters[key].default
                count += 1
                wrong += [(name, thing.__qualname__, key, given)] if given != value else []
    assert count > 400 and not wrong

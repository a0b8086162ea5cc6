"""Ctrl-C at a given moment."""


def interrupt_at(monkeypatch, owner, name, call):
    """Make one of the calls of a function or method an interrupt; return a list with an entry for every call."""
    function, calls = getattr(owner, name), []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return function(*args)

    monkeypatch.setattr(owner, name, interrupted)
    return calls

"""Sums over blocks: in one order on any number of threads, which stop together."""

import itertools
import threading
import time
from threading import Barrier, Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spkm.sources import ArraySource, Source


def cuts_of(n_rows, n_features, width):
    """Return where the blocks of an array begin and end."""
    X = np.broadcast_to(np.zeros((1, 1)), (n_rows, n_features))
    return ArraySource(X, np.zeros((n_rows, 0))).pieces(width)


@given(st.integers(1, 3000), st.sampled_from([(1, 10_000), (2, 6000), (1, 2)]))
def test_blocks_are_equal_and_even_in_number(n_rows, shape):
    cuts = cuts_of(n_rows, *shape)
    sizes = [stop - start for start, stop in cuts]
    assert sum(sizes) == n_rows and all(a[1] == b[0] for a, b in itertools.pairwise(cuts))
    assert cuts[0][0] == 0 and 1 <= min(sizes) <= max(sizes) <= min(sizes) + 1
    assert len(cuts) == 1 or len(cuts) % 2 == 0
    assert len(cuts) == 1 or max(sizes) * (shape[0] + 3 * shape[1]) * 8 <= 32 * 2**20


@given(st.integers(50_000, 10**6), st.integers(1, 30))
@settings(max_examples=20)
def test_long_blocks_are_aligned(n_rows, width):
    cuts = cuts_of(n_rows, 1, width)
    sizes = [stop - start for start, stop in cuts]
    assert cuts[0][0] == 0 and cuts[-1][1] == n_rows and all(a[1] == b[0] for a, b in itertools.pairwise(cuts))
    most = min(50_000, 2**21 // (1 + 3 * width))  # samples in 16 MB
    assert 0 < min(sizes) and max(sizes) <= most
    assert max(sizes[:-1], default=0) <= min(sizes[:-1], default=0) + 1
    assert len(sizes) == 1 or sizes[0] % 128 == 0 or sizes[0] < 128**2 or sizes[0] > most - 128


class Items(Source):
    """A source whose blocks are the numbers 0, 1, 2, ..."""

    def __init__(self, count):
        self.count = count

    def pieces(self, width):
        return range(self.count)

    def load(self, piece):
        return piece


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_are_added_in_order_whoever_is_first(n_threads):
    terms = [np.array([10.0**k]) for k in range(-8, 9)]  # sums in any other order have other digits

    def late_at_first(k):
        time.sleep(0.01 if k == 0 else 0.0)
        return [terms[k]]

    source = Items(len(terms))
    with source.threads(n_threads):
        found = source.reduce(late_at_first, width=1)
    assert found[0] == sum(terms)
    assert found[0] != sum(terms[::-1])


@pytest.mark.parametrize("fails", ["caller", "helper"])
def test_all_threads_stop_at_an_error(fails):
    caller, both, done = threading.get_ident(), Barrier(2), []

    def work(k):
        if k < 2:
            both.wait()  # each of the two has one of the first two items
        if k < 2 and (threading.get_ident() == caller) == (fails == "caller"):
            raise KeyboardInterrupt
        time.sleep(0.1)  # seconds for all of them, if the other goes on
        done.append(k)
        return [np.ones(1)]

    source = Items(60)
    with source.threads(2), pytest.raises(KeyboardInterrupt):
        source.reduce(work, width=1)
    assert len(done) < 30


def test_sums_do_not_wait_for_threads_that_are_busy():
    release, source = Event(), Items(3)
    with source.threads(2):
        waiting = source.each(lambda k: release.wait(), range(5))  # both threads wait for the event
        opener = threading.Timer(5.0, release.set)
        opener.start()
        started = time.monotonic()
        ahead = threading.Thread(target=lambda: list(waiting))
        ahead.start()
        assert source.reduce(lambda k: [np.ones(1)], width=1)[0] == 3.0
        assert time.monotonic() - started < 4.0
        release.set()
        ahead.join()
        opener.cancel()

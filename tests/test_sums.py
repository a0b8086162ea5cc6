"""Sums over blocks: in one order on any number of threads, which stop together."""

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spkm.sources._array import add_up, add_up_on_threads, equal_cuts


@given(st.integers(0, 300), st.integers(1, 60))
def test_blocks_are_equal_and_even_in_number(n_rows, most):
    cuts = equal_cuts(n_rows, most)
    sizes = [stop - start for start, stop in cuts]
    assert sum(sizes) == n_rows and all(a[1] == b[0] for a, b in itertools.pairwise(cuts))
    if n_rows:
        assert cuts[0][0] == 0 and 1 <= min(sizes) <= max(sizes) <= min(most, min(sizes) + 1)
        assert len(cuts) in (1, n_rows) or len(cuts) % 2 == 0


@given(st.integers(50_000, 10**7), st.integers(20_000, 50_000))
def test_long_blocks_are_aligned(n_rows, most):
    cuts = equal_cuts(n_rows, most)
    sizes = [stop - start for start, stop in cuts]
    assert cuts[0][0] == 0 and cuts[-1][1] == n_rows and all(a[1] == b[0] for a, b in itertools.pairwise(cuts))
    assert 0 < min(sizes) and max(sizes) <= most
    assert max(sizes[:-1], default=0) <= min(sizes[:-1], default=0) + 1
    assert len(sizes) == 1 or sizes[0] % 128 == 0 or sizes[0] < 128**2 or sizes[0] > most - 128


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_are_added_in_order_whoever_is_first(n_threads):
    terms = [np.array([10.0**k]) for k in range(-8, 9)]  # sums in any other order have other digits

    def late_at_first(k):
        time.sleep(0.01 if k == 0 else 0.0)
        return [terms[k]]

    with ThreadPoolExecutor(n_threads) as pool:
        found = add_up_on_threads(pool, n_threads, late_at_first, range(len(terms)))
    np.testing.assert_array_equal(found, add_up([term] for term in terms))
    with ThreadPoolExecutor(1) as pool:
        assert add_up_on_threads(pool, n_threads, late_at_first, []) == []


@pytest.mark.parametrize("fails", ["caller", "helper"])
def test_all_threads_stop_at_an_error(fails):
    caller, both, done = threading.get_ident(), Barrier(2), []

    def work(k):
        if k < 2:
            both.wait()  # each of the two has one of the first two items
        if k < 2 and (threading.get_ident() == caller) == (fails == "caller"):
            raise KeyboardInterrupt
        time.sleep(0.01)  # 20 s for all of them, if the other goes on
        done.append(k)
        return [np.ones(1)]

    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        add_up_on_threads(pool, 2, work, range(2000))
    assert len(done) < 1000


def test_sums_do_not_wait_for_a_pool_that_is_busy():
    release = Event()
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(release.wait)
        assert add_up_on_threads(pool, 2, lambda k: [np.ones(1)], range(3))[0] == 3.0
        release.set()
        assert busy.result()

"""The two ways to SciPy's L-BFGS-B visit the same points."""

import numpy as np
import pytest
import scipy

from spkm.solvers import descend, known_routine

ROUTINE = known_routine(scipy.__version__)
KNOWN = pytest.mark.skipif(ROUTINE is None, reason="the routine of this version of SciPy is not known")
N = 12
RNG = np.random.default_rng(0)
START = RNG.uniform(-1.0, 1.0, N)
FREE = np.full(N, -np.inf), np.full(N, np.inf)
#: Bounds of all kinds: below, above, both, fixed, none; some of them hold the minimum off.
MIXED = (
    np.array([-np.inf, -2.0, -0.5, 0.3, 0.9] + [-np.inf] * 7),
    np.array([np.inf, np.inf, 0.5, 0.3, np.inf, 0.2] + [np.inf] * 6),
)


def valley(x):
    """Return Rosenbrock's function and its gradient."""
    bend, rest = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    gradient = np.zeros_like(x)
    gradient[:-1] = -400 * bend * x[:-1] - 2 * rest
    gradient[1:] += 200 * bend
    return float(100 * bend @ bend + rest @ rest), gradient


def with_wall(x):
    """Return the same, which is not finite where the first coordinate is above a half."""
    return (np.nan, np.zeros_like(x)) if x[0] > 0.5 else valley(x)


def in_single_precision(x):
    """Return the same with a gradient of another precision."""
    value, gradient = valley(x)
    return value, gradient.astype(np.float32)


def course(routine, function, box, max_iter, tol=0.0):
    """Return the points at which a descent evaluates, and its result."""
    points = []

    def noted(x):
        points.append(x.copy())
        return function(x)

    return points, descend(noted, START, max_iter, tol, None, box, routine=routine)


@KNOWN
@pytest.mark.parametrize("function", [valley, with_wall, in_single_precision])
@pytest.mark.parametrize("box", [None, FREE, MIXED], ids=["none", "free", "mixed"])
@pytest.mark.parametrize(("max_iter", "tol"), [(1, 0.0), (15, 0.0), (500, 0.0), (500, 1e-2)])
def test_the_routine_and_its_wrapper_visit_the_same_points(function, box, max_iter, tol):
    points, found = course(ROUTINE, function, box, max_iter, tol)
    expected, of_wrapper = course(None, function, box, max_iter, tol)
    np.testing.assert_array_equal(points, expected)
    np.testing.assert_array_equal(found.theta, of_wrapper.theta)
    assert found.trace == of_wrapper.trace
    assert found.n_iter == of_wrapper.n_iter <= max_iter
    assert found.converged == of_wrapper.converged
    assert found.stationarity == of_wrapper.stationarity
    if box is MIXED:
        assert np.all((box[0] <= found.theta) & (found.theta <= box[1]))
        assert np.any(found.theta[[1, 2, 4, 5]] == [-2.0, 0.5, 0.9, 0.2])


@pytest.mark.parametrize("routine", [None, pytest.param(ROUTINE, marks=KNOWN)], ids=["wrapper", "routine"])
def test_a_descent_ends_at_the_minimum(routine):
    points, found = course(routine, valley, None, 500)
    assert found.converged
    assert len(points) == len({x.tobytes() for x in points})
    np.testing.assert_allclose(found.theta, np.ones(N), atol=1e-6)


@pytest.mark.parametrize("version", ["1.13.0", "1.14.1", "1.18.0", "1.20.0rc1", "2.0.0"])
def test_other_versions_of_scipy_go_the_public_way(version):
    assert known_routine(version) is None

"""Small models of some columns of a table, with random parameters."""

import numpy as np
import pytest
from sklearn.base import clone

from spkm.selection import Problem, Submodel
from spkm.sources import ArraySource
from tests import cases

N_COLUMNS = 6  # of the table
INSIDE = cases.frozen(np.array([0, 2, 3, 5]))  # those of the model
METRICS = ["fixed", "scale", "relevances"]
each_kernel = pytest.mark.parametrize("name", cases.KERNELS)
# A factor for each of the four columns says nothing of others.
each_kernel_of_any_columns = pytest.mark.parametrize("name", [name for name in cases.KERNELS if name != "nest"])


def table(loss, n=17, m=1, kind=np.asarray):
    weight = np.random.default_rng(4).uniform(0.5, 2, n)
    return ArraySource(kind(cases.rows(n, N_COLUMNS)), cases.targets(loss, n, m), weight)


def submodel(kernel, loss, metric="fixed", m=1, columns=INSIDE, n_basis=3, **penalties):
    """Return a model of some columns with random parameters."""
    problem = Problem(cases.one_view(kernel, n_basis, metric), loss, **penalties)
    model = problem.objective(table(loss, m=m).columns(columns)).model
    return Submodel(problem, columns, model, cases.random_theta(model), 0.0)


def on_fewer(kernel, kept):
    """Return a kernel of some of its columns."""
    if np.ndim(getattr(kernel, "factor", 0.0)):
        return clone(kernel).set_params(factor=kernel.factor[kept])
    return kernel

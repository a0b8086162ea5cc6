"""Names: every registered one has a case, and a wrong one gets help."""

import subprocess
import sys

import numpy as np
import pytest

from spkm import SPKMClassifier, kernels, losses, penalties
from spkm.kernels import KERNELS, RBF, Kernel
from spkm.penalties import L1
from spkm.solvers import LBFGS
from tests import cases
from tests.small_data import two_classes

ABSTRACT = {"DistanceKernel", "DotKernel", "InvariantKernel", "Kernel", "Loss", "Penalty", "SumLoss"}


@pytest.mark.parametrize("what", cases.REGISTRIES)
def test_every_registered_name_has_a_case(what):
    registry, instances = cases.REGISTRIES[what]
    for name, factory in registry.items():
        assert any(key.split(",")[0] == name and type(case) is factory for key, case in instances.items()), (
            f"{what} {name!r} is registered but has no case: add one of that name to tests/cases.py"
        )


@pytest.mark.parametrize(
    ("module", "base", "instances"),
    [
        (kernels, kernels.Kernel, cases.KERNELS),
        (losses, losses.Loss, cases.LOSSES),
        (penalties, penalties.Penalty, cases.PENALTIES | cases.GRAM_PENALTIES),
    ],
)
def test_every_public_class_has_a_case(module, base, instances):
    public = {name for name, c in vars(module).items() if isinstance(c, type) and issubclass(c, base)}
    assert public - ABSTRACT == {type(case).__name__ for case in instances.values()}


@pytest.mark.parametrize("what", cases.REGISTRIES)
def test_names_make_objects_and_objects_pass(what):
    registry, _ = cases.REGISTRIES[what]
    for name in registry:
        made = registry.resolve(name)
        assert isinstance(made, registry.kind)
        assert registry.resolve(made) is made


def test_wrong_names_get_help():
    with pytest.raises(ValueError, match=r"Unknown kernel 'rbff'. Did you mean 'rbf'\? Known: laplacian, linear, "):
        KERNELS.resolve("rbff")
    with pytest.raises(ValueError, match=r"Unknown start 'zzz'\. Known: a, b\."):
        filled = type(KERNELS)("start", Kernel)
        filled.update(b=RBF, a=RBF)
        filled.resolve("zzz")
    with pytest.raises(TypeError, match=r"kernel must be an object, not a class; got RBF. Write RBF\(\)"):
        KERNELS.resolve(RBF)
    with pytest.raises(TypeError, match="basis_penalty must be a name or a Penalty object; got 3 of type int"):
        penalties.BASIS_PENALTIES.resolve(3, "basis_penalty")


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2", None])
def test_integers_are_checked(bad):
    with pytest.raises(ValueError, match="max_iter of solver must be an integer of at least 1; got "):
        SPKMClassifier(2, solver=LBFGS(max_iter=bad)).fit(*two_classes())


@pytest.mark.parametrize("bad", [-1e-9, float("nan"), float("inf"), True, "2", None, [1.0]])
def test_numbers_are_checked(bad):
    with pytest.raises(ValueError, match="strength of basis_penalty must be a number of at least 0; got "):
        SPKMClassifier(2, basis_penalty=L1(bad)).fit(*two_classes())


def test_what_is_right_is_taken():
    X, y = two_classes()
    settings = {"basis_penalty": L1(2), "scale": "common", "tol": 1, "random_state": 0}
    assert SPKMClassifier(np.int64(3), **settings).fit(X, y).basis_vectors_.shape == (3, 2)
    with pytest.raises(ValueError, match="scale must be one of True, False, 'common'; got 1"):
        SPKMClassifier(3, scale=1).fit(X, y)


def test_any_number_of_threads_that_the_environment_may_name():
    code = """
import os
from spkm import SPKMRegressor
for text in ("4,2", "", " ", "0", "many", "-3", "2 "):
    os.environ["OMP_NUM_THREADS"] = text
    model = SPKMRegressor(1, weight_penalty="rkhs", random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 4, 9])
    print(model.predict([[1.5]])[0])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    found = result.stdout.split()
    assert len(found) == 7 and len(set(found)) == 1

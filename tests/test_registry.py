"""Names: every registered one has a case, and a wrong one gets help."""

import pytest

from spkm import SPKMClassifier, kernels, losses, penalties
from spkm._checks import check_choice, check_integer, check_real, n_threads
from spkm._parts import Registry
from spkm.kernels import KERNELS, RBF, Kernel
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
        filled = Registry("start", Kernel)
        filled.update(b=RBF, a=RBF)
        filled.resolve("zzz")
    with pytest.raises(TypeError, match=r"kernel must be an object, not a class; got RBF. Write RBF\(\)"):
        KERNELS.resolve(RBF)
    with pytest.raises(TypeError, match="basis_penalty must be a name or a Penalty object; got 3 of type int"):
        penalties.BASIS_PENALTIES.resolve(3, "basis_penalty")


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2", None])
def test_integers_are_checked(bad):
    with pytest.raises(ValueError, match="n_basis must be an integer of at least 1; got "):
        check_integer("n_basis", bad, 1)


@pytest.mark.parametrize("bad", [-1e-9, float("nan"), float("inf"), True, "2", None, [1.0]])
def test_numbers_are_checked(bad):
    with pytest.raises(ValueError, match="strength must be a number of at least 0; got "):
        check_real("strength", bad)


def test_checks_return_what_is_right():
    assert check_integer("n", 3, 1) == 3
    assert check_real("x", 2) == 2.0
    assert check_choice("scale", "common", (True, False, "common")) == "common"
    with pytest.raises(ValueError, match="scale must be one of True, False, 'common'; got 1"):
        check_choice("scale", 1, (True, False, "common"))


@pytest.mark.parametrize("text", ["4,2", "", " ", "0", "many", "-3", "2 "])
def test_any_number_of_threads_that_the_environment_may_name(monkeypatch, text):
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert n_threads(None) >= 1
    SPKMClassifier(2, random_state=0).fit(*two_classes())

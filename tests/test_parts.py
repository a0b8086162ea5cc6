"""What parts say of themselves, and the checks of their numbers."""

import ast
import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone

from spkm import kernels, losses, penalties, solvers
from spkm.core import starts
from spkm.core.starts import Greedy
from spkm.kernels import (
    RBF,
    Affine,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Product,
    Rescaled,
    Sum,
    Tanimoto,
)
from spkm.losses import Cosine, Huber, Log, Poisson, Quantile, SmoothHinge, Squared
from spkm.penalties import L1, ElasticNet, Evidence, GroupL2, L1Ball, RKHSNorm, RowL2, SquaredL2
from spkm.solvers import LBFGS, Adam, Alternating, Proximal, VarPro
from tests import cases

EVERYTHING = {
    f"{kind}: {name}": part for kind, (_, instances) in cases.REGISTRIES.items() for name, part in instances.items()
}


@pytest.mark.parametrize("part", EVERYTHING.values(), ids=EVERYTHING)
def test_a_good_part_passes_its_check_and_stays_as_it_is(part):
    before = repr(part)
    assert part.check("argument") is part
    assert repr(part) == before
    for name in part.numbers:
        assert name in part.get_params(deep=False)


WRONG = [
    (SquaredL2(-1.0), r"strength of argument must be a number of at least 0; got -1\.0"),
    (L1("much"), "strength of argument must be a number of at least 0; got 'much'"),
    (RKHSNorm("none"), "strength of argument must be a number of at least 0; got 'none'"),
    (ElasticNet(1.0, 1.5), r"l1_ratio of argument must be a number of at least 0 and at most 1; got 1\.5"),
    (GroupL2(1.0, l1_ratio=None), "l1_ratio of argument must be a number"),
    (L1Ball(-2), "radius of argument must be a number of at least 0; got -2"),
    (RowL2(np.inf), "strength of argument must be a number of at least 0; got inf"),
    (Evidence(trace=None), "trace of argument must be a number of at least 0; got None"),
    (Evidence(noise=0.0), r"noise of argument must be a number above 0; got 0\.0"),
    (Evidence(prior=-1), "prior of argument must be a number of at least 0; got -1"),
    (Huber(0), "delta of argument must be a number above 0; got 0"),
    (SmoothHinge(-0.5), r"width of argument must be a number above 0; got -0\.5"),
    (Quantile(0.5, 0.0), r"width of argument must be a number above 0; got 0\.0"),
    (Log("rows"), "columns of argument must be 'classes' or 'labels'; got 'rows'"),
    (Polynomial(0), "degree of argument must be an integer of at least 1; got 0"),
    (Sum(RBF(), Matern(3.0)), r"nu of argument must be 1\.5 or 2\.5; got 3\.0"),
    (Product(Polynomial(1.5), RBF()), r"degree of argument must be an integer of at least 1; got 1\.5"),
    (Affine(Rescaled(Matern(2), 0.5)), r"nu of argument must be 1\.5 or 2\.5; got 2\."),
    (LBFGS(max_iter=0), "max_iter of argument must be an integer of at least 1; got 0"),
    (LBFGS(first_rows=2.5), r"first_rows of argument must be an integer of at least 1; got 2\.5"),
    (VarPro(polish=-1), "polish of argument must be an integer of at least 0; got -1"),
    (Proximal(tol=-1.0), r"tol of argument must be a number of at least 0; got -1\.0"),
    (Adam(batch_size=True), "batch_size of argument must be an integer of at least 1; got True"),
    (Alternating(basis_steps=0), "basis_steps of argument must be an integer of at least 1; got 0"),
    (Greedy(0), "n_candidates of argument must be an integer of at least 1; got 0"),
]


@pytest.mark.parametrize(("part", "message"), WRONG, ids=[str(part) for part, _ in WRONG])
def test_a_wrong_number_is_named_with_its_argument(part, message):
    with pytest.raises(ValueError, match=message):
        part.check("argument")


@pytest.mark.parametrize("part", [RKHSNorm("auto"), Evidence("auto"), LBFGS(first_rows=None), Adam(None, None)])
def test_words_that_stand_for_numbers_pass(part):
    assert part.check("argument") is part


def test_a_loss_of_other_targets_is_named():
    class Odd(Squared):
        target = "ranks"

    with pytest.raises(ValueError, match="target of loss must be 'real' or 'signs'; got 'ranks'"):
        Odd().check("loss")


def test_what_kernels_say():
    for name, kernel in cases.KERNELS.items():
        zero = np.array(cases.basis(2))
        zero[:, 1] = 0.0
        X = np.abs(cases.rows(9)) + 0.5
        moved = X.copy()
        moved[:, 1] += 0.7
        reads = not np.allclose(kernel(X, zero), kernel(moved, zero))
        assert kernel.reads_zero_features == reads, name
        doubled = kernel(X, 2 * zero)
        assert not kernel.is_linear or np.allclose(doubled, 2 * kernel(X, zero)), name
        assert kernel.is_per_feature == (name == "nest")
        assert kernel.has_sparse_path == (not reads and hasattr(kernel, "gamma")), name
    assert Linear(0.5).is_linear and not Polynomial(2, 0.0, 0.5).is_linear


def test_another_gamma_leaves_the_rest():
    for kernel in (Polynomial(2, 0.5, "auto"), Matern(1.5, 0.2), Laplacian(3.0), Linear()):
        other = kernel.with_gamma(0.7)
        assert other.get_params() == clone(kernel).set_params(gamma=0.7).get_params() and type(other) is type(kernel)
        assert kernel.gamma != 0.7
    assert not Tanimoto().has_sparse_path


def test_what_losses_say():
    quadratic = {name for name, loss in cases.LOSSES.items() if loss.is_quadratic}
    assert quadratic == {"squared"}
    likelihoods = {name for name, loss in cases.LOSSES.items() if loss.is_likelihood}
    assert likelihoods == {"hazard", "log", "log, labels", "ordinal"}
    assert {name for name, loss in cases.LOSSES.items() if loss.coupled} == {"cosine"}
    assert not Quantile().for_classes and not Poisson().for_classes and Log().for_classes and Cosine().for_classes


@pytest.mark.parametrize("name", cases.LOSSES)
@pytest.mark.parametrize("m", [1, 3])
def test_a_loss_that_is_not_coupled_needs_no_totals_of_others(name, m):
    loss = cases.LOSSES[name]
    Y, F = cases.targets(loss, 9, m), 0.5 * cases.targets(Squared(), 9, m, seed=5)
    w = np.full((9, 1), 1 / 9)
    whole = loss.mix(loss.totals(Y, F, w))
    part = loss.mix(loss.totals(Y[:4], F[:4], w[:4]))
    same = all(np.allclose(a, b) for a, b in zip(whole, part, strict=True))
    assert same == (not loss.coupled)


def test_what_penalties_say():
    rng = np.random.default_rng(0)
    C, root = rng.standard_normal((3, 2)), rng.standard_normal((3, 3))
    K = root @ root.T
    for name, penalty in (cases.PENALTIES | cases.GRAM_PENALTIES).items():
        assert penalty.is_evidence == (name == "evidence")
        assert penalty.is_tunable == (name == "rkhs")
        assert penalty.uses_gram == (name == "rkhs")
        assert penalty.is_smooth == (name in ("l2", "rkhs", "evidence"))
        if penalty.quadratic is None:
            continue
        a, b = penalty.quadratic
        value = penalty.value_of_gram(C, K)[0] if penalty.uses_gram else penalty.value(C)
        assert value == pytest.approx(0.5 * np.trace(C.T @ (a * np.eye(3) + b * K) @ C)), name
    assert cases.PENALTIES["l2"].quadratic and cases.GRAM_PENALTIES["rkhs"].quadratic


def test_factors_and_defaults_are_for_strengths_that_can_have_them():
    norm = RKHSNorm(0.2)
    assert norm.with_factor(10.0).strength == pytest.approx(2.0) and norm.strength == 0.2
    assert RKHSNorm().with_default(0.3).strength == 0.3 and norm.with_default(0.3) is norm
    for penalty in (SquaredL2(0.2), L1(0.2), Evidence()):
        assert penalty.with_factor(10.0) is penalty and penalty.with_default(0.3) is penalty
    assert Evidence(noise=0.4).as_penalty(50.0).strength == pytest.approx(2 * 0.4 / 50)


def documented_defaults():
    """Yield classes of parts with a parameter, its default in the signature, and what the docstring says it is."""
    for module in (kernels, losses, penalties, solvers, starts):
        for name in sorted(vars(module)):
            cls = getattr(module, name)
            if not inspect.isclass(cls) or "__init__" not in vars(cls):
                continue
            text = inspect.getdoc(cls) or ""
            for parameter in inspect.signature(cls).parameters.values():
                found = re.search(rf"^{parameter.name} : .*default=(\S+)$", text, re.MULTILINE)
                if found and parameter.default is not parameter.empty:
                    yield pytest.param(parameter.default, found.group(1), id=f"{name}.{parameter.name}")


@pytest.mark.parametrize("default, told", list(documented_defaults()))
def test_defaults_are_those_of_the_docstring(default, told):
    assert default == ast.literal_eval(told)


def test_what_is_not_said_is_not_so():
    """A kernel or loss of one's own promises nothing that it does not say."""

    class Own(kernels.Kernel):
        pass

    class OwnLoss(losses.Loss):
        pass

    promised = ("is_linear", "is_per_feature", "stationary", "nonnegative", "shifted")
    assert not any(getattr(Own(), name) for name in promised)
    assert not OwnLoss.is_quadratic and not OwnLoss.is_likelihood
    assert kernels.Rescaled(kernels.RBF(1.0), np.ones(2)).is_per_feature

"""The plain form of a model: whole, made of plain data, and never that of another formula."""

import numpy as np
import pytest

from spkm import kernels, losses
from spkm.core.targets import Classes
from spkm.persistence import plain_model
from tests.cases import FACTORS, KERNELS
from tests.plain_cases import all_models, made, one_term, real


def plain_kernel(kernel):
    """Return the kernel in the plain form of a model of one view."""
    (member,) = plain_model(made(one_term(kernel), real(), losses.Squared()))["members"]
    (view,) = member["terms"][0]["views"]
    return view["kernel"]


def formulas(tree):
    yield tree["name"]
    for part in tree.values():
        if isinstance(part, dict):
            yield from formulas(part)


def test_every_kernel_has_a_plain_form_of_known_formulas():
    seen = {name for kernel in KERNELS.values() for name in formulas(plain_kernel(kernel))}
    leaves = {"rbf", "matern", "rational_quadratic", "laplacian", "linear", "polynomial", "normalized_polynomial"}
    assert seen == leaves | {"tanimoto", "affine", "sum", "product"}


def test_bandwidth_and_relevances_are_folded_into_the_metric():
    tree = plain_kernel(
        kernels.Rescaled(kernels.Sum(kernels.RBF(0.5), kernels.Rescaled(kernels.Linear(2.0), 3.0)), FACTORS)
    )
    np.testing.assert_allclose(tree["left"]["metric"], 0.5 * FACTORS)
    np.testing.assert_allclose(tree["right"]["metric"], 6.0 * FACTORS)


class Wider(kernels.RBF):
    def profile(self, s):
        return 1 / (1 + s) ** 2


class Between(kernels.Affine):
    def vjp(self, X, U, metric=1.0, xx=None, learn_metric=False):
        return self.kernel.vjp(X, U, metric, xx, learn_metric)


@pytest.mark.parametrize("kernel", [Wider(0.5), Between(kernels.RBF(0.5)), kernels.Sum(Wider(0.1), kernels.RBF(0.1))])
def test_a_kernel_with_another_formula_is_refused_by_name(kernel):
    with pytest.raises(TypeError, match=r"(Wider|Between) has a formula of its own.*register"):
        plain_kernel(kernel)


class Cubed(losses.Squared):
    def predict(self, F):
        return F**3


class SquaredAgain(losses.Squared):
    def pointwise(self, Y, F):
        return 2 * np.square(F - Y)


def test_a_loss_with_another_link_is_refused_by_name_and_another_loss_is_not():
    with pytest.raises(TypeError, match="Cubed"):
        plain_model(made(one_term(kernels.RBF(0.5)), real(), Cubed()))
    assert plain_model(made(one_term(kernels.RBF(0.5)), real(), SquaredAgain()))["link"] == "identity"


def check_plain(value):
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            check_plain(part)
    else:
        is_array = isinstance(value, np.ndarray) and value.dtype.kind in "fi"
        assert is_array or value is None or type(value) in (str, bool, int, float), value


@pytest.mark.parametrize("name, model", all_models().items())
def test_plain_form_holds_plain_data_only(name, model):
    check_plain(plain_model(model, ["x"] * 6))


def test_labels_that_json_cannot_hold_are_refused():
    model = made(one_term(kernels.RBF(0.5)), Classes.of(np.array([b"a", b"b"], dtype=object)), losses.Log())
    with pytest.raises(TypeError, match="Class labels must be strings or numbers"):
        plain_model(model)

"""Models that should not be read vector by vector say so first, everywhere."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from spkm import SPKMClassifier
from spkm.explain import summary
from spkm.inspection import BasisCardDisplay, report
from spkm.kernels import RBF
from tests.made_models import make_model
from tests.reports import facts


def weighted(model, weights):
    """Return a model with other weights of its first output."""
    theta = model.theta.copy()
    model.model.unpack(theta).weights[:, 0] = weights
    return replace(model, theta=theta)


def opposed(apart=0.3, weights=(3.0, -2.0)):
    """Return a model of two neighbouring vectors, the second of which takes back what the first says, and samples."""
    model = make_model([(2, [(RBF(0.5), None)])], 2, scaling=False, basis=np.array([[0.0, 0.0], [apart, 0.0]]))
    model = weighted(model, weights)
    X = np.random.default_rng(0).normal(size=(200, 2))
    return model, X, model.scores(X)[:, 0]


def contrary(model, X, y):
    """Return what a report says of the vectors whose weight contradicts the samples, by their rows."""
    return {card["r"]: card["caution"] for card in facts(model, X, y)["basis"]["cards"] if card["caution"]}


def test_a_weight_against_the_samples_is_found_and_one_with_them_is_not():
    model, X, y = opposed()
    found = contrary(model, X, y)
    assert list(found) == [1]
    assert "u1 lowers the prediction though targets rise with likeness to it" in found[1]
    assert list(contrary(model, X, -y)) == [0]  # then it is the other one
    noise = np.random.default_rng(1).normal(size=len(y))
    assert contrary(model, X, noise) == {}  # chance is no contradiction


def test_classes_are_named_with_their_figures():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(np.hypot(*X.T) < 1, "yes", "no")
    model = SPKMClassifier(n_basis=2, linear_part=False, random_state=0).fit(X, y)
    similarities = model.model_.similarities(X)
    towards = np.sign(similarities[y == "yes"].mean(axis=0) - similarities[y == "no"].mean(axis=0))
    against = weighted(model.model_, -towards / similarities.std(axis=0))  # contributions of equal size
    found = contrary(against, X, y)
    clearest = int(np.argmax([abs(np.corrcoef(s, y == "yes")[0, 1]) for s in similarities.T]))
    assert clearest in found
    own, others = (similarities[y == label, clearest].mean() for label in ("yes", "no"))
    assert f"(mean similarity {own:.3g} against {others:.3g})" in found[clearest] and "score of yes" in found[clearest]


@pytest.mark.parametrize("weight", [-0.5, -0.8, -0.85, -0.9, -0.95])
def test_cancellation_is_named_above_ten(weight):
    model, X, y = opposed(0.01, (1.0, weight))
    factor = model.cancellation(X)
    said = " ".join(check["detail"] for check in facts(model, X, y)["checks"] if check["level"] == "look")
    assert (f"by a factor of {factor:.0f} or more" in said) == (factor > 10)


def test_summary_page_and_card_say_it_first(tmp_path):
    model, X, y = opposed(0.05, (100.0, -90.0))
    assert model.cancellation(X) > 10
    assert summary(model, X, y).startswith("Caution: ")
    found = facts(model, X, y)
    first, second = found["checks"][:2]
    assert first["level"] == second["level"] == "look"
    assert "cancel" in first["detail"] and f"{model.cancellation(X):.0f}" in first["detail"]
    assert [bool(card["caution"]) for card in sorted(found["basis"]["cards"], key=lambda c: c["r"])] == [False, True]
    text = report(model, tmp_path / "card.md", X, y).read_text(encoding="utf-8")
    assert text.index("Contributions cancel") < text.index("## Quality") < text.index("## Basis vectors")
    pytest.importorskip("matplotlib")
    display = BasisCardDisplay.from_estimator(model, X, y, basis=1)
    assert "corrects other vectors" in display.ax_[0].get_title(loc="left").replace("\n", " ")


def test_vectors_of_no_weight_have_no_card():
    model, X, y = opposed(weights=(3.0, 0.0))
    found = facts(model, X, y)["basis"]
    assert [card["r"] for card in found["cards"]] == [0] and found["n_dead"] == 1 and found["left_out"] == 0


def test_shares_of_folds_are_called_what_they_are(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 8))
    y = X[:, 0] + 0.3 * rng.normal(size=120) > 0
    model = SPKMClassifier(kernel="linear", n_basis=1, selection="strict", random_state=0).fit(X, y)
    said = " ".join(summary(model).split())
    (first,) = [name for name in model.get_feature_names_out() if name == "x0"]
    assert f"Chosen again on random halves of the samples: {first} 100%" in said and "folds" not in said
    in_folds = copy(model)
    del in_folds.half_frequency_
    said = " ".join(summary(in_folds).split())
    assert f"Chosen by the folds of the search: {first} 100%" in said and "Folds share most of their samples" in said
    found = facts(model, X, y)
    assert [f["folds"] for f in found["columns"]] == list(model.fold_frequency_[model.model_.features_read()])
    assert [f["stability"] for f in found["columns"]] == [1.0] * len(found["columns"])
    assert next(c for c in found["checks"] if c["code"] == "SPKM13")["level"] == "pass"
    shaky = copy(model)
    shaky.half_frequency_ = np.zeros(8)
    assert (
        "Not chosen again on halves" in next(c for c in facts(shaky, X, y)["checks"] if c["code"] == "SPKM13")["detail"]
    )
    found = facts(in_folds, X, y)
    (check,) = [c for c in found["checks"] if c["code"] == "SPKM13"]
    assert "they share most of their samples" in check["detail"]
    plain = SPKMClassifier(n_basis=1, random_state=0).fit(X, y)
    assert "Chosen by" not in summary(plain) and facts(plain, X, y)["columns"][0]["folds"] is None

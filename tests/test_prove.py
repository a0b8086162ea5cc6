"""Proofs about whole models: a dense grid never contradicts them, and planted violations are found."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, SPKMRegressor, TableEncoder
from spkm.cli import main
from spkm.explain import gradient, prove
from spkm.kernels import RBF, Affine, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from tests.made_models import make_model
from tests.small_data import curve, three_classes, two_classes

X2, Y2 = two_classes()
KINDS = {
    "rbf": [(4, [(RBF(0.6), None)])],
    "bipolar": [(4, [(Affine(RBF(0.6)), None)])],
    "matern": [(4, [(Matern(2.5, gamma=0.5), None)])],
    "rational quadratic": [(3, [(RationalQuadratic(alpha=1.5, gamma=0.5), None)])],
    "laplacian": [(4, [(Laplacian(0.4), None)])],
    "linear": [(2, [(Linear(0.5), None)])],
    "polynomial": [(3, [(Polynomial(degree=3, coef0=0.5, gamma=0.3), None)])],
    "two terms": [(3, [(RBF(0.4), None)]), (2, [(Linear(0.7), None)])],
    "views": [(2, [(RBF(0.4), [0, 1])]), (2, [(Matern(1.5, gamma=0.3), [1, 2])])],
}
BOX = {f"x{j}": (-1.5, 1.0 + 0.3 * j) for j in range(3)}


def grid(count=15):
    """Return a dense grid over the box."""
    axes = [np.linspace(*ends, count) for ends in BOX.values()]
    return np.array(list(itertools.product(*axes)))


def box(model):
    return {j: ends for j, ends in enumerate(BOX.values())} if model.n_features == 3 else None


@pytest.mark.parametrize("kind", KINDS)
def test_limits_are_those_of_a_dense_grid(kind):
    model = make_model(KINDS[kind], n_features=3, n_outputs=2, seed=3)
    F = model.scores(grid())
    for output in range(2):
        top = prove(model, f"score of {output} <= ?", ranges=box(model), tolerance=1e-2)
        bottom = prove(model, f"score of {output} >= ?", ranges=box(model), tolerance=1e-2)
        assert top.status == bottom.status == "proved"
        assert F[:, output].max() <= top.bound <= top.found + 1.01e-2
        assert F[:, output].min() >= bottom.bound >= bottom.found - 1.01e-2
        sample = np.array([[top.sample[f"x{j}"] for j in range(3)]])
        assert model.scores(sample)[0, output] == pytest.approx(top.found, abs=1e-12)
        assert top.found >= F[:, output].max() - 1e-2


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "laplacian"])
def test_directions_are_those_of_the_gradient(kind):
    model = make_model(KINDS[kind], n_features=3, n_outputs=1, seed=4)
    slopes = gradient(model, 0.999 * grid(9))[:, 1, 0]
    rises = prove(model, "score rises with x1", ranges=box(model))
    falls = prove(model, "score falls with x1", ranges=box(model))
    assert rises.status == ("refuted" if slopes.min() < 0 else rises.status)
    assert falls.status == ("refuted" if slopes.max() > 0 else falls.status)
    assert rises.bound <= slopes.min() + 1e-6 and falls.bound >= slopes.max() - 1e-6
    for proof, sign in ((rises, 1), (falls, -1)):
        sample = np.array([[proof.sample[f"x{j}"] for j in range(3)]])
        inner = gradient(model, sample * (1 - 1e-7))[0, 1, 0]  # at the clip itself there is no slope
        if proof.status == "refuted":  # a proof by construction looks at no sample
            assert proof.found == pytest.approx(inner, rel=1e-4, abs=1e-4)
        assert (sign * proof.found < 0) == (proof.status == "refuted")


def test_changes_of_one_feature():
    model = make_model(KINDS["matern"], n_features=3, n_outputs=1, seed=5)
    proof = prove(model, "changing x2 moves score by <= ?", ranges=box(model), tolerance=1e-3)
    F = model.scores(grid(11)).reshape(11, 11, 11)
    widest = np.ptp(F, axis=2).max()
    assert proof.status == "proved"
    assert widest <= proof.bound and proof.found >= widest - 1e-3
    assert proof.sample["x0"] == proof.other_sample["x0"] and proof.sample["x2"] != proof.other_sample["x2"]
    pair = np.array([list(proof.sample.values()), list(proof.other_sample.values())])
    assert np.diff(-model.scores(pair)[:, 0])[0] == pytest.approx(proof.found, abs=1e-12)
    assert "the other sample" in str(prove(model, f"changing x2 moves score by <= {widest / 2}", ranges=box(model)))


def test_differences_of_two_models():
    X, y = curve()
    one, two = (SPKMRegressor(4, random_state=s).fit(X[s::2] * (1 + s), y[s::2]) for s in (0, 1))
    proof = prove(one, "difference of predictions <= ?", other=two, ranges=X, tolerance=1e-2)
    dense = np.array(list(itertools.product(*(np.linspace(a.min(), a.max(), 60) for a in X.T))))
    widest = np.abs(one.predict(dense) - two.predict(dense)).max()
    assert widest <= proof.bound <= proof.found + 1.01e-2
    assert prove(one, f"difference of scores <= {0.5 * widest}", other=two, ranges=X).status == "refuted"
    # Beyond the range of either model, too: what both of them clip is settled.
    far = prove(one, "difference of scores <= ?", other=two, tolerance=0.3)
    wide = np.array(list(itertools.product(*(np.linspace(-30, 30, 80) for _ in range(2)))))
    assert np.abs(one.predict(wide) - two.predict(wide)).max() <= far.bound
    assert prove(one, "difference of scores <= 0.2", other=one, ranges=X).status == "proved"


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_probabilities_and_classes(data):
    X, y = data()
    model = SPKMClassifier(3, random_state=0).fit(X, y)
    dense = np.array(list(itertools.product(*(np.linspace(a.min(), a.max(), 21) for a in X.T))))
    P = model.predict_proba(dense)
    for k in np.unique(y):
        top = prove(model, f"probability of {k} <= ?", ranges=X, tolerance=0.01)
        bottom = prove(model, f"probability of {k} >= ?", ranges=X, tolerance=0.01)
        assert P[:, k].max() <= top.bound <= top.found + 0.0101
        assert P[:, k].min() >= bottom.bound >= bottom.found - 0.0101
    centre = X[y == 0].mean(axis=0)
    near = " and ".join(f"{c - 0.01} <= x{j} <= {c + 0.01}" for j, c in enumerate(centre))
    assert prove(model, f"prediction is 0 where {near}").status == "proved"
    proof = prove(model, "prediction is 0", ranges=X)
    assert proof.status == "refuted"
    assert model.predict([list(proof.sample.values())])[0] != 0


def test_probability_of_a_change_and_of_two_models():
    model = SPKMClassifier(3, random_state=0).fit(X2, Y2)
    proof = prove(model, "changing x0 moves probability by <= ?", ranges=X2, tolerance=0.02)
    a, b = (np.linspace(v.min(), v.max(), 40) for v in X2.T)
    P = model.predict_proba(np.array(list(itertools.product(a, b))))[:, 1].reshape(40, 40)
    assert np.ptp(P, axis=0).max() <= proof.bound <= proof.found + 0.0201
    other = SPKMClassifier(3, random_state=0).fit(X2[:40], Y2[:40])
    apart = prove(model, "difference of probabilities <= ?", other=other, ranges=X2, tolerance=0.02)
    Q = other.predict_proba(np.array(list(itertools.product(a, b))))[:, 1].reshape(40, 40)
    assert np.abs(P - Q).max() <= apart.bound <= apart.found + 0.0201


def test_monotone_models_are_proved_to_be():
    model = SPKMClassifier(4, monotone={0: 1}, random_state=0).fit(X2, Y2)
    assert prove(model, "score rises with x0").status == "proved"
    assert prove(model, "score falls with x0").status == "refuted"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 240
    age = rng.integers(18, 80, n)
    job = rng.choice(["nurse", "baker", "judge"], n)
    member = rng.choice([True, False], n)
    income = rng.gamma(4.0, 500.0, n)
    income[::17] = np.nan
    table = pd.DataFrame({"age": age, "job": job, "member": member, "net income": income})
    y = np.where((age > 45) ^ (job == "judge"), "yes", "no")
    model = make_pipeline(TableEncoder(), SPKMClassifier(6, random_state=0)).fit(table, y)
    return table, model


def test_tables_with_categories(people):
    table, model = people
    known = table.dropna()
    proof = prove(model, "probability of yes <= ? where age < 25 and job in {nurse, baker}", ranges=table)
    young = known[(known["age"] < 25) & (known["job"] != "judge")]
    assert model.predict_proba(young)[:, 1].max() <= proof.bound
    assert proof.sample["job"] in ("nurse", "baker") and proof.sample["age"] == round(proof.sample["age"])
    assert 18 <= proof.sample["age"] <= 25
    row = pd.DataFrame([proof.sample]).assign(**{"net income": proof.sample.get("net income", 2000.0)})
    row["member"] = bool(proof.sample.get("member", True))
    row["age"] = row["age"].astype(int)
    assert model.predict_proba(row[table.columns])[0, 1] == pytest.approx(proof.found, abs=1e-9)
    change = prove(model, "changing job moves probability by <= ?", ranges=table, tolerance=0.01)
    both = [known.assign(job=job) for job in ("nurse", "baker", "judge")]
    widest = np.ptp([model.predict_proba(one)[:, 1] for one in both], axis=0).max()
    assert widest <= change.bound and change.sample["job"] != change.other_sample["job"]
    assert prove(model, "score <= 1e6 where 'net income' > 100 and member = true").status == "proved"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("score", "'<=' or '<' or"),
        ("score <= big", "a number is missing before 'big'"),
        ("score <= 1 where", "the name of a feature is missing at the end"),
        ("score <= 1 where height < 2", "does not have: 'height'"),
        ("score <= 1 where job < 2", "it is a category"),
        ("score <= 1 where job = pilot", "levels that 'job' does not have"),
        ("score <= 1 where age = old", "compares the number 'age'"),
        ("score <= 1 where age > 30 and age < 20", "leaves no value"),
        ("score of maybe <= 1", "names the output 'maybe'"),
        ("probability of maybe <= 1", "names the output 'maybe'"),
        ("prediction <= 1", "predicted class"),
        ("prediction is maybe", "names the class 'maybe'"),
        ("score rises with job", "is a category"),
        ("score <= 1 or 2", "nothing goes on before 'or'"),
        ("difference of scores <= 1", "other must be given"),
        ("changing age moves score by >= 1", "'<=' or '<' is missing"),
        ("", "is missing at the end"),
    ],
)
def test_clear_errors(people, statement, message):
    with pytest.raises(ValueError, match=message):
        prove(people[1], statement)


def test_unknown_has_a_gap():
    model = make_model(KINDS["rbf"], n_features=3, n_outputs=1, seed=3)
    known = prove(model, "score <= ?", ranges=box(model))
    level = 0.5 * (known.found + known.bound)
    proof = prove(model, f"score <= {level + 1e-4}", ranges=box(model), max_boxes=3)
    assert proof.status == "unknown" and proof.gap > 0 and "not ruled out" in str(proof)
    with pytest.raises(TypeError, match="statement must be a string"):
        prove(model, 3)


def test_command(people, tmp_path, capsys):
    table, model = people
    file, data = tmp_path / "model.spkm", tmp_path / "data.csv"
    from spkm.persistence import save

    save(model, file)
    table.to_csv(data, index=False)
    assert main(["prove", str(file), "score <= 1e6"]) == 0
    assert re.search(r"Proved: the score is at most [\d.]+ in the whole region; the largest", capsys.readouterr().out)
    assert main(["prove", str(file), "score >= -1e6"]) == 0
    assert re.search(r"Proved: the score is at least -[\d.]+ in the whole region; the", capsys.readouterr().out)
    assert main(["prove", str(file), "score rises with age", "--data", str(data)]) == 5
    assert re.search(r"Refuted: the slope of the score per unit of age is -[\d.]+ in", capsys.readouterr().out)
    assert main(["prove", str(file), "prediction is yes", "--data", str(data)]) == 5
    assert re.search(r"Refuted: the margin over the other classes is -[\d.]+ in", capsys.readouterr().out)
    assert main(["prove", str(file), "changing job moves probability by <= 0.01", "--data", str(data)]) == 5
    assert re.search(r"Refuted: the difference of the probability is 0\.[\d]+ in", capsys.readouterr().out)
    assert main(["prove", str(file), "probability <= 0.01", "--data", str(data)]) == 5
    assert "job = " in capsys.readouterr().out
    assert main(["prove", str(file), "score >= ?", "--boxes", "2", "--json", "-"]) in (0, 6)
    assert '"gap"' in capsys.readouterr().out
    assert main(["prove", str(file), "score <= 1", "--boxes", "0"]) == 2
    assert "prove: --boxes must be an integer" in capsys.readouterr().err
    assert main(["prove", str(file), "score up"]) == 2
    assert "is not understood" in capsys.readouterr().err


def test_a_strict_limit_of_whole_numbers_leaves_the_number_out():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 70, 150), "size": rng.normal(size=150)})
    model = make_pipeline(TableEncoder(), SPKMRegressor(3, random_state=0)).fit(
        table, table["age"] / 10 + table["size"]
    )
    strict, closed = (prove(model, f"score <= ? where age {sign} 25", ranges=table) for sign in ("<", "<="))
    assert "age from 18 to 24;" in str(strict) and "age from 18 to 25;" in str(closed)
    assert "age from 26 to" in str(prove(model, "score >= ? where age > 25", ranges=table))


def test_a_model_that_reads_no_feature():
    X = np.random.default_rng(0).standard_normal((40, 2))
    model = SPKMRegressor(2, kernel="linear", linear_part=False, weight_penalty="rkhs", random_state=0)
    model.fit(X, np.r_[np.zeros(39), 1e-12])
    theta = model.model_.theta.copy()
    model.model_.model.unpack(theta).weights[...] = 0.0
    constant = replace(model.model_, theta=theta)
    value = float(constant.scores(X[:1])[0, 0])
    for shift, status in ((-1e-3, "refuted"), (1e-3, "proved")):
        assert prove(constant, f"score <= {value + shift!r}", ranges={0: (-1, 1), 1: (-1, 1)}).status == status


def test_a_strict_limit_at_zero_is_shown_as_zero():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = SPKMRegressor(3, random_state=0, max_iter=20, tol=1.0).fit(X, X[:, 0])
    answer = prove(model, "score <= 100 where x0 < 0", ranges=X)
    assert answer.region["x0"].endswith(" to 0") and "e-324" not in str(answer)

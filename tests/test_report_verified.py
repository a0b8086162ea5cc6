"""A page's own comparison with Python, run by node: labels stay apart, and rounding is no difference."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import spkm
import spkm.persistence
from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMOrdinalClassifier, SPKMRegressor, kernels
from spkm.inspection import report
from spkm.persistence import NumpyModel, plain_model

PAGE = Path(spkm.__file__).parent / "inspection" / "_report" / "page"
ENGINE = Path(spkm.persistence.__file__).with_name("_engine.js")
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

ASK = """
const machine = makeMachine(JSON.parse(require("fs").readFileSync(0, "utf8")));
const answers = machine.rows.map((row) => machine.engine.predict(row));
process.stdout.write(JSON.stringify({ ...verify(machine), answers, classes: machine.plain.classes }));
"""


ASK_PAIRS = """
const facts = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(verifyPairs(facts.pairs)));
"""


def verified(estimator, X, y, tmp_path, change=None, ask=ASK):
    """Return what the scripts of the page find of its facts, which ``change`` may change."""
    report(estimator, tmp_path / "facts.json", X, y)
    facts = json.loads((tmp_path / "facts.json").read_text())
    if change is not None:
        change(facts)
    scripts = "\n".join(path.read_text() for path in (ENGINE, PAGE / "machine.js", PAGE / "pairs.js"))
    (tmp_path / "ask.js").write_text(f"{scripts}\n{ask}")
    command = [NODE, str(tmp_path / "ask.js")]
    done = subprocess.run(command, input=json.dumps(facts), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), facts


@pytest.mark.parametrize("kind", [SPKMClassifier, SPKMOrdinalClassifier])
@pytest.mark.parametrize("labels", [[2**53, 2**53 + 1], [3, 2**62 + 1, 2**62 + 2]])
def test_large_whole_labels_stay_apart(kind, labels, tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 2))
    edges = np.quantile(X[:, 0], np.linspace(0, 1, len(labels) + 1)[1:-1])
    y = np.array(labels)[np.digitize(X[:, 0], edges)]
    model = kind(n_basis=2, weight_penalty="rkhs", random_state=0).fit(X, y)
    found, facts = verified(model, X, y, tmp_path)
    assert found["good"] and len(set(map(str, found["classes"]))) == len(labels)
    assert [int(label) for label in found["classes"]] == labels
    assert [str(value) for value in facts["rows"]["y"]] == y[facts["rows"]["index"]].astype(str).tolist()
    assert set(map(str, found["answers"])) == set(map(str, labels))


def wide_polynomial():
    """Return a model whose scores are sums of terms that are far larger than they, so that they round visibly."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) * [1.0, 1e4, 1e-2] + 1.0
    y = (X[:, 0] + 0.3 * rng.standard_normal(40) > 1).astype(int)
    options = {"scale": False, "weight_penalty": "rkhs", "tol": 0.1, "random_state": 0}
    model = SPKMClassifier(n_basis=3, kernel="polynomial", **options).fit(X, y)
    return model, X, y


def test_rounding_of_large_sums_is_no_difference(tmp_path):
    model, X, y = wide_polynomial()
    sizes = np.abs(model.model_.contributions(X)).sum(axis=1).max(axis=1)
    assert sizes.max() > 100

    def rounded(facts):
        """Move every number of the page by what the rounding of its sum is."""
        expected = facts["page"]["verify"]
        for i, size in enumerate(sizes[facts["rows"]["index"]][: len(expected["scores"])]):
            error = 1e-13 * max(size, 1.0)
            expected["scores"][i] = [score + error for score in expected["scores"][i]]
            expected["probabilities"][i] = [p + error / 4 for p in expected["probabilities"][i]]

    found, _ = verified(model, X, y, tmp_path, rounded)
    assert found["worst"] > 1e-14 and found["good"]


def test_a_probability_that_differs_is_told(tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = SPKMClassifier(n_basis=2, weight_penalty="rkhs", random_state=0).fit(X, y)

    def moved(facts):
        facts["page"]["verify"]["probabilities"][3][0] += 1e-8

    assert verified(model, X, y, tmp_path)[0]["good"]
    assert not verified(model, X, y, tmp_path, moved)[0]["good"]


def far_from_zero(kernel, seed=1):
    """Return a model of features that are far from zero beside how they vary, which nothing scales, and its samples."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 3)) + np.array([300.0, -2000.0, 0.0])
    y = np.sin(X[:, 0]) + X[:, 2] + 0.1 * rng.standard_normal(50)
    options = {"scale": False, "weight_penalty": "rkhs", "tol": 0.1, "basis_bounds": None, "random_state": 0}
    return SPKMRegressor(3, kernel=kernel, **options).fit(X, y), X, y


KERNELS = [
    *(kernels.RBF(0.3), kernels.Matern(1.5, 0.3), kernels.Matern(2.5, 0.3), kernels.RationalQuadratic(1.0, 0.3)),
    *(kernels.Laplacian(0.2), kernels.Linear(), kernels.Polynomial(2), kernels.NormalizedPolynomial(2)),
    kernels.Sum(kernels.RBF(0.3), kernels.Linear(0.1)),
    kernels.Product(kernels.RBF(0.1), kernels.Polynomial(2, 0.1)),
    kernels.Affine(kernels.Matern(2.5, 0.2), 2.0, 0.5),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_rounding_is_bounded_by_what_is_added(kernel, tmp_path):
    model, X, y = far_from_zero(kernel)
    facts = json.loads(report(model, tmp_path / "facts.json", X, y).read_text())
    page = facts["page"]
    rows = X[facts["rows"]["index"]][: page["verify"]["rows"]]
    gaps = np.abs(NumpyModel(plain_model(model.model_)).scores(rows) - model.model_.scores(rows)).max(axis=1)
    bounds = np.array(page["verify"]["rounding"])
    assert np.all(gaps <= bounds)
    assert np.all(bounds < 1e-3 * np.abs(model.model_.contributions(X)).sum(axis=(1, 2)).max() + 1e-12)


def test_rounding_of_distances_far_from_zero_is_no_difference(tmp_path):
    model, X, y = far_from_zero(KERNELS[0])
    found, facts = verified(model, X, y, tmp_path)
    bounds = facts["page"]["verify"]["rounding"]
    assert found["good"] and bounds[3] > 1e-11  # the rounding of three products is no share of the sum

    def good_with(share):
        def moved(facts):
            facts["page"]["verify"]["scores"][3][0] += share * bounds[3]

        return verified(model, X, y, tmp_path, moved)[0]["good"]

    assert good_with(0.5) and not good_with(3.0)


def test_a_wrong_score_is_a_difference_in_every_unit(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = np.column_stack([1e-14 * (X[:, 0] + 3), 1e6 * np.sin(X[:, 1])])
    model = SPKMRegressor(3, weight_penalty="rkhs", tol=0.1, random_state=0).fit(X, y)

    def wrong(output):
        def change(facts):
            facts["page"]["verify"]["scores"][3][output] *= 1.001

        return change

    assert verified(model, X, y, tmp_path)[0]["good"]
    assert not verified(model, X, y, tmp_path, wrong(0))[0]["good"]
    assert not verified(model, X, y, tmp_path, wrong(1))[0]["good"]


def test_another_class_is_no_difference_only_where_rounding_decides(tmp_path):
    _, X, y = far_from_zero(KERNELS[0])
    model = SPKMClassifier(3, kernel=KERNELS[0], scale=False, weight_penalty="rkhs", random_state=0).fit(X, y > 0)

    def other(row, room):
        def change(facts):
            expected = facts["page"]["verify"]
            expected["predictions"][row] = not expected["predictions"][row]
            expected["rounding"][row] = room

        return change

    assert verified(model, X, y > 0, tmp_path, other(3, 1e9))[0]["wrong"] == 0
    assert verified(model, X, y > 0, tmp_path, other(3, 0.0))[0]["wrong"] == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_of_pairs_is_no_difference(dtype, tmp_path):
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((20, 3)) + 300).astype(dtype), rng.standard_normal((15, 2)).astype(dtype)
    pairs = np.array([(i, j) for i in range(20) for j in range(15)])
    y = np.sin(left[pairs[:, 0], 0]) + right[pairs[:, 1], 1]
    options = {"left_kernel": kernels.RBF(2.0), "scale": False, "tol": 0.1, "random_state": 0}
    model = PairwiseSPKMRegressor(3, **options).fit(pairs, y, left=left, right=right)
    found, facts = verified(model, (pairs, left, right), y, tmp_path, ask=ASK_PAIRS)
    assert found["good"]
    # How much two ways to add differ depends on the CPU: half of the bound is allowed on each, three times it on none.
    bounds = facts["pairs"]["rounding"]
    assert bounds[3] > 1e-10

    def good_with(share):
        def moved(facts):
            facts["pairs"]["verify"][3][0] += share * bounds[3]

        return verified(model, (pairs, left, right), y, tmp_path, moved, ASK_PAIRS)[0]["good"]

    assert good_with(0.5) and not good_with(3.0)

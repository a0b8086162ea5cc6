"""The report: what it says is true, what it writes is small, safe and the same every time."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, r2_score, roc_auc_score

from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMRegressor
from spkm.estimators import StabilitySelection
from spkm.inspection import report
from spkm.inspection._report._samples import packed, stratified
from spkm.kernels import RBF
from tests.reports import facts, shipped

EVIL = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a|b`c`*d*\n# e", "=1+1\u2028"]


def rounded(value):
    """Return numbers with the five digits of a report."""
    return [rounded(part) for part in value] if np.ndim(value) else float(f"{value:.5g}")


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    return SPKMClassifier(n_basis=4, random_state=0).fit(X[::2], y[::2]), X, y


@pytest.fixture(scope="module")
def evil():
    data = load_iris(as_frame=True)
    X, y = data.data.set_axis(EVIL, axis=1), np.array(["<b>x</b>", "</script>", "\u2029c|d"])[data.target]
    return SPKMClassifier(n_basis=3, random_state=0).fit(X, y), X, y


def embedded(path):
    """Return the facts in a page, as a browser would read them."""
    found = {}

    class Reader(HTMLParser):
        inside = False

        def handle_starttag(self, tag, attributes):
            found.setdefault("tags", []).append(tag)
            self.inside = dict(attributes).get("id") == "facts"

        def handle_endtag(self, tag):
            self.inside = False

        def handle_data(self, data):
            if self.inside:
                found["facts"] = json.loads(data)

    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return found


def test_quality_is_scikit_learns(cancer):
    model, X, y = cancer
    test, truth = X[1::2], y[1::2]
    found = facts(model, test, truth)["quality"]
    values = {metric["name"]: metric["value"] for metric in found["metrics"]}
    P = model.predict_proba(test)
    assert values["accuracy"] == rounded(accuracy_score(truth, model.predict(test)))
    assert values["log loss"] == rounded(log_loss(truth, P))
    assert values["area under ROC"] == rounded(roc_auc_score(truth, P[:, 1]))
    assert found["confusion"] == confusion_matrix(truth, model.predict(test)).tolist()
    for metric in found["metrics"]:
        assert metric["low"] <= metric["value"] <= metric["high"]
    assert sum(row[-1] for row in found["calibration"]["bins"]) == len(truth)


def test_samples_of_a_page_are_those_of_the_facts(tmp_path):
    X = np.random.default_rng(0).standard_normal((80, 5))
    X[:, 0] = X[:, 0] > 0
    X[:, 1] = np.rint(1e5 * X[:, 1])
    X[:, 2] = 1e12 + 1e-3 * np.rint(1e3 * X[:, 2])
    model = SPKMRegressor(n_basis=2, random_state=0).fit(X, X[:, 4])
    report(model, tmp_path / "page.html", X, X[:, 4])
    report(model, tmp_path / "facts.json", X, X[:, 4])
    page, known = embedded(tmp_path / "page.html")["facts"], json.loads((tmp_path / "facts.json").read_text())
    assert set(page["rows"]["columns"]["widths"]) == {1, 2}
    np.testing.assert_array_equal(shipped(page), shipped(known))


def test_quality_of_numbers_is_scikit_learns():
    X, y = load_diabetes(return_X_y=True)
    model = SPKMRegressor(n_basis=3, random_state=0).fit(X, y)
    found = facts(model, X, y)["quality"]
    assert found["metrics"][0]["value"] == rounded(r2_score(y, model.predict(X)))
    assert sum(row[-1] for row in found["outputs"][0]["residuals"]) == len(y)


def test_what_a_page_predicts_from_is_the_model(cancer):
    model, X, y = cancer
    found = facts(model, X, y, max_rows=60)
    rows = found["rows"]
    shown = np.column_stack([(np.array(codes) + first) / 10.0**digits for first, digits, codes in rows["columns"]])
    spread = X.to_numpy().max(axis=0) - X.to_numpy().min(axis=0)
    assert np.all(np.abs(shown - X.to_numpy()[rows["index"]]) <= spread / 2000)
    scores = model.model_.scores(shown[:50])
    np.testing.assert_allclose(found["page"]["verify"]["scores"], scores, rtol=1e-12)
    assert found["page"]["verify"]["predictions"] == model.model_.target.decode(scores).tolist()


def test_every_class_is_among_the_rows():
    y = np.repeat(["a", "b", "c"], [1000, 3, 500])
    chosen = stratified(y, len(y), 100, is_class=True)
    assert len(chosen) <= 101 and set(y[chosen]) == {"a", "b", "c"}
    assert 60 <= np.sum(y[chosen] == "a") <= 70
    numbers = np.random.default_rng(0).standard_normal(5000)
    part = numbers[stratified(numbers, 5000, 200, is_class=False)]
    np.testing.assert_allclose(np.percentile(part, [5, 50, 95]), np.percentile(numbers, [5, 50, 95]), atol=0.05)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_packed_rows_are_near_and_whole_numbers_exact(scale):
    rng = np.random.default_rng(0)
    values = np.column_stack([scale * rng.standard_normal(50), rng.integers(0, 9, 50), np.full(50, 0.1)])
    found, shown = packed(values)
    spread = np.ptp(values[:, 0])
    assert np.abs(shown[:, 0] - values[:, 0]).max() <= spread / 2000
    np.testing.assert_array_equal(shown[:, 1:], values[:, 1:])
    assert all(isinstance(code, int) for column in found["columns"] for code in column[2])


@given(
    arrays(np.float64, (7, 2), elements=st.floats(-1e30, 1e30, allow_subnormal=False)),
    st.sampled_from([1e-20, 1.0, 1e20]),
)
def test_packed_rows_are_near_whatever_they_are(values, scale):
    values = values * scale
    found, shown = packed(values)
    spread = np.ptp(values, axis=0)
    size = np.abs(values).max(axis=0)
    near = np.maximum(spread / 2000, 1e-12 * size)
    assert np.all(np.abs(shown - values) <= near + 1e-300)
    for k, column in enumerate(found["columns"]):
        first, digits, codes = column
        whole = [first + code for code in codes]
        assert 0 <= min(codes) and max(codes) < 2**16  # two bytes in a page
        assert max(map(abs, whole)) < 2**53  # so that JavaScript holds them, too
        ten = float(f"1e{abs(digits)}")
        again = [w / ten if digits >= 0 else w * ten for w in whole]
        np.testing.assert_array_equal(again, shown[:, k])


def test_equal_inputs_make_equal_files(cancer, tmp_path):
    model, X, y = cancer
    first = report(model, tmp_path / "a.html", X, y, train=(X[::2], y[::2])).read_bytes()
    second = model.report(tmp_path / "b.html", X, y, train=(X[::2], y[::2])).read_bytes()
    assert first == second


def test_a_page_of_thirty_features_and_a_thousand_rows_is_small(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 30))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = SPKMClassifier(n_basis=8, random_state=0, tol=1e-2).fit(X[:500], y[:500])
    path = report(model, tmp_path / "page.html", X, y)
    assert len(embedded(path)["facts"]["rows"]["index"]) == 1000
    assert path.stat().st_size <= 300_000


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["wide", "many problems", "very wide"])
def test_no_page_is_larger_than_a_megabyte(kind, tmp_path):
    rng = np.random.default_rng(0)
    if kind == "many problems":
        data = load_digits()
        X, y = data.data[:300], data.target[:300]
        quick = {"weight_penalty": "rkhs", "tol": 1e-1, "random_state": 0}
        model = SPKMClassifier(n_basis=2, multi_class="ovo", linear_part=False, **quick).fit(X, y)
    else:
        X = rng.standard_normal((80, 500 if kind == "wide" else 3000))
        y = (X[:, 0] > 0).astype(int)
        like_default = {"weight_penalty": "l2", "linear_part": True, "learn_bandwidth": "columns"}
        n_basis = 20 if kind == "wide" else 4
        model = SPKMClassifier(n_basis=n_basis, **like_default, max_iter=5, random_state=0, tol=1e-1).fit(X, y)
    path = report(model, tmp_path / "page.html", X, y)
    assert path.stat().st_size <= 1_000_000
    assert (embedded(path)["facts"]["page"] is None) == (kind == "very wide")


def test_a_page_asks_for_nothing(cancer, tmp_path):
    model, X, y = cancer
    page = report(model, tmp_path / "page.html", X, y).read_text()
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    assert f'content="{policy}"' in page
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of a language, not a place
    assert not re.search(r"<(link|iframe|img|object|embed|base)\b|@import|\bfetch\(|XMLHttpRequest|innerHTML", page)


def test_names_are_only_text(evil, tmp_path):
    model, X, y = evil
    path = report(model, tmp_path / "page.html", X, y, title="</title><script>alert(2)</script>")
    same = SPKMClassifier(n_basis=3, random_state=0).fit(X.to_numpy(), y)
    plain = report(same, tmp_path / "plain.html", X.to_numpy(), y, title="t")
    found = embedded(path)
    assert found["tags"] == embedded(plain)["tags"]
    assert [feature["name"] for feature in found["facts"]["features"]["read"]] == EVIL
    assert found["facts"]["model"]["classes"] == ["</script>", "<b>x</b>", "\u2029c|d"]
    raw = path.read_text(encoding="utf-8")
    assert "<script>alert" not in raw and "\u2028" not in raw and "<b>" not in raw


def test_a_model_card_says_the_same(evil, tmp_path):
    model, X, y = evil
    card = report(model, tmp_path / "card.md", X, y).read_text(encoding="utf-8")
    assert "<" not in card.replace("&lt;", "")
    accuracy = facts(model, X, y)["quality"]["metrics"][0]["value"]
    assert f"| accuracy | {accuracy:.4g} |" in card
    for line in card.splitlines():
        if line.startswith("| SPKM"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 6


def test_facts_are_json(cancer, tmp_path):
    model, X, y = cancer
    found = json.loads(report(model, tmp_path / "facts.json", X, y).read_text())
    assert found["model"]["n_basis"] == 4 and found["schema"] == 2


def test_without_rows_no_sample_is_in_the_file(cancer, tmp_path):
    model, X, y = cancer
    found = facts(model, X, y, privacy="aggregate")
    assert found["rows"] is None and found["page"]["background"] is None and found["samples"]["n_shipped"] == 0
    assert all(card["nearest"] == [] for card in found["basis"]["cards"])
    text = json.dumps(found)
    values = X.to_numpy()
    for column in range(0, 30, 7):  # the most telling values of all: the largest and the least
        assert f"{values[:, column].max()!r}" not in text
    probes = np.array(found["page"]["verify"]["rows"])
    assert not any(np.any(np.all(np.isclose(values, row, rtol=1e-9), axis=1)) for row in probes)


def test_basis_cards_and_features_agree_with_the_model(cancer):
    model, X, y = cancer
    found = facts(model, X, y)
    of_vectors = sum(card["share"] for card in found["basis"]["cards"])
    assert of_vectors + found["basis"]["linear_share"] == pytest.approx(1.0, abs=1e-3)
    for card in found["basis"]["cards"]:
        assert card["weights"] == rounded(model.model_.weights[card["r"]])
        for name, value, _ in card["features"]:
            assert value == rounded(model.basis_vectors_[card["r"], list(X.columns).index(name)])
    assert [feature["column"] for feature in found["features"]["read"]] == list(range(30))


def levels(found):
    return {check["code"]: check["level"] for check in found["checks"]}


def test_checks_pass_for_a_good_model(cancer):
    _, X, y = cancer
    model = SPKMClassifier(n_basis=4, weight_penalty="rkhs", random_state=0).fit(X[::2], y[::2])
    stable = StabilitySelection(np.ones(30), 0.75, np.arange(30), np.array(X.columns), 30, 1.0, 1.0, True, 20)
    found = levels(facts(model, X[1::2], y[1::2], train=(X[::2], y[::2]), stability=stable))
    assert set(found.values()) <= {"pass", "none"} and list(found.values()).count("pass") >= 11


def test_checks_find_what_is_wrong(cancer):
    _, X, y = cancer
    small, truth = X.to_numpy()[:60, :5], y[:60]
    model = SPKMClassifier(n_basis=4, random_state=0).fit(small, truth)
    theta = model.model_.theta.copy()
    params = model.model_.model.unpack(theta)
    params.basis[0][1] = params.basis[0][0]
    params.basis[0][2] += 50.0
    params.weights[3] = 0.0
    model.model_ = replace(model.model_, theta=theta, interrupted=True)
    shaky = StabilitySelection(np.zeros(5), 0.75, np.arange(0), np.array(list("abcde")), 5, 1.0, 1.0, True, 20)
    found = levels(facts(model, small + 9 * small.std(axis=0), truth, train=(small, truth), stability=shaky))
    assert found["SPKM01"] == "look"  # two equal vectors
    assert found["SPKM02"] == "look"  # a vector far from all samples
    assert found["SPKM03"] == "look"  # a vector of no weight
    assert found["SPKM05"] == "look"
    assert found["SPKM11"] == "look"  # samples far from those of the fit
    assert found["SPKM13"] == "look"
    seen = levels(facts(model, small, truth, train=(small, truth)))
    assert seen["SPKM12"] == "look"
    chance = np.vstack([small, small[:3] + 1e-3, small[:3] + 1e-3])  # three of 63 are there twice anyway
    for repeats, level in ((1, "pass"), (len(small), "look")):
        table = np.vstack([small + 5e-4] * 2)
        table[:repeats] = small[:repeats]
        labels = np.concatenate([truth, truth])
        told = levels(facts(model, table, labels, train=(chance, np.concatenate([truth, truth[:3], truth[:3]]))))
        assert told["SPKM12"] == level
    rng = np.random.default_rng(0)
    rounded = np.column_stack([rng.normal(60, 10, 300).round(1), *rng.integers(2, size=(4, 300))])  # of ages and stages
    held_out, fitted = rounded[:60], rounded[60:]
    assert np.mean([(fitted == row).all(axis=1).any() for row in held_out]) > 0.05
    told = levels(facts(model, held_out, np.resize(truth, 60), train=(fitted, np.resize(truth, 240))))
    assert told["SPKM12"] == "pass"


def test_pairs_views_and_labels_have_reports(tmp_path):
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((12, 3)), rng.standard_normal((9, 4))
    pairs = np.array([(i, j) for i in range(12) for j in range(9)])
    y = left[pairs[:, 0], 0] * right[pairs[:, 1], 1]
    model = PairwiseSPKMRegressor(n_basis=3, random_state=0, tol=1e-2).fit(pairs, y, left=left, right=right)
    found = embedded(model.report(tmp_path / "pairs.html", pairs, y))["facts"]
    assert [feature["name"] for feature in found["features"]["read"]][:4] == [
        "left: x0",
        "left: x1",
        "left: x2",
        "right: x0",
    ]
    other = model.report(tmp_path / "new.md", (pairs[:5], left + 1, right), y[:5])
    assert "samples of this card | 5" in other.read_text()
    X = load_iris().data
    labels = (X > X.mean(axis=0)).astype(int)
    several = SPKMClassifier(n_basis=3, random_state=0).fit(X, labels)
    assert len(facts(several, X, labels)["quality"]["labels"]) == 4
    tables = {"sepal": X[:, :2], "petal": X[:, 2:]}
    viewed = SPKMClassifier(n_basis=2, random_state=0).fit(tables, load_iris().target)
    assert facts(viewed, tables)["features"]["read"][2]["name"] == "petal: x0"


def test_odd_samples_have_reports(tmp_path):
    rng = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    few = {"n_basis": 2, "random_state": 0, "tol": 1e-1}
    counts = rng.poisson(np.exp(X[:, 0] - 5)).astype(float)
    cases = {
        "one sample": (SPKMClassifier(**few).fit(X, y), X[:1], y[:1]),
        "float32": (SPKMClassifier(**few).fit(X.astype(np.float32), y), X.astype(np.float32), y),
        "sparse": (SPKMClassifier(**few).fit(sparse.csr_array(X), y), sparse.csr_array(X), y),
        "constant target": (SPKMRegressor(**few).fit(X, np.ones(150)), X, np.ones(150)),
        "constant feature": (SPKMClassifier(**few).fit(X * [1, 1, 1, 0], y), X * [1, 1, 1, 0], y),
        "counts": (SPKMRegressor(loss="poisson", **few).fit(X, counts), X, counts),
        "no probabilities": (SPKMClassifier(loss="squared_hinge", **few).fit(X, y), X, y),
        "one against the rest": (SPKMClassifier(multi_class="ovr", **few).fit(X, y), X, y),
        "model alone": (SPKMClassifier(**few).fit(X, y).model_, X, y),
    }
    for name, (model, rows, truth) in cases.items():
        found = embedded(report(model, tmp_path / "page.html", rows, truth))["facts"]
        assert (found["page"] is None) == (name == "constant target"), name
        assert report(model, tmp_path / "card.md", rows).read_text().startswith("# "), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "report.pdf"}, "path must end with .html"),
        ({"privacy": "secret"}, "privacy must be"),
        ({"y": np.zeros(3)}, "y must have an entry for each of the 569 samples; got 3"),
        ({"y": np.full(569, "?")}, "y must hold classes of the fit"),
        ({"units": {"age": "years"}}, "units must be a dict from columns of X"),
        ({"max_rows": 0}, "max_rows must be"),
    ],
)
def test_mistakes_are_named_and_leave_no_file(change, message, cancer, tmp_path):
    model, X, y = cancer
    options = {"path": "report.html", "y": y, **change}
    path = tmp_path / options.pop("path")
    with pytest.raises(ValueError, match=message):
        report(model, path, X, **options)
    assert list(tmp_path.iterdir()) == []


def test_vectors_that_are_samples_are_not_called_aggregate(tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = SPKMRegressor(2, basis="samples", random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="whose basis vectors are training samples"):
        report(model, tmp_path / "report.html", X, X[:, 0], privacy="aggregate")
    assert list(tmp_path.iterdir()) == []


def test_missing_targets_are_named(tmp_path):
    X = np.arange(20.0)[:, None]
    model = SPKMRegressor(2, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        report(model, tmp_path / "report.html", X, np.where(X[:, 0] == 3, np.nan, 1.0))


def test_a_kernel_that_no_page_knows_still_has_a_report(cancer, tmp_path):
    class Odd(RBF):
        def profile(self, s):
            return np.exp(-s)

    _, X, y = cancer
    model = SPKMClassifier(n_basis=2, kernel=Odd(gamma=0.1), random_state=0, learn_bandwidth=False, tol=1e-1)
    found = embedded(report(model.fit(X.iloc[:, :4], y), tmp_path / "odd.html", X.iloc[:, :4], y))["facts"]
    assert found["page"] is None and found["quality"] is not None


def test_few_samples_have_wide_intervals_of_a_level_that_is_named(cancer, tmp_path):
    model, X, y = cancer
    right = np.concatenate([np.flatnonzero((model.predict(X) == y) & (y == label))[:7] for label in np.unique(y)])
    found = facts(model, X.iloc[right], y[right])
    metrics = {m["name"]: m for m in found["quality"]["metrics"]}
    for name in ("accuracy", "balanced accuracy", "area under ROC"):
        assert metrics[name]["value"] == 1.0
        assert metrics[name]["low"] < 0.85, name
        assert metrics[name]["high"] == 1.0
    assert metrics["log loss"]["low"] is None  # resamples of 14 samples say too little
    for name in ("page.html", "card.md"):
        text = report(model, tmp_path / name, X.iloc[right], y[right]).read_text(encoding="utf-8")
        assert "95 %" in text and "90 % interval" not in text and "hold 90 %" not in text


def test_comparisons_say_both_figures_and_how_sure_they_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=400) > 0).astype(int)
    model = SPKMClassifier(n_basis=3, random_state=0).fit(X[:200], y[:200])

    def comparison(rows, code="SPKM07"):
        found = facts(model, X[rows], y[rows], train=(X[:200], y[:200]))
        return next(c for c in found["checks"] if c["code"] == code)

    many, few = comparison(slice(200, 400)), comparison(slice(200, 212))
    pattern = (
        r"accuracy 0\.\d{3}; .* has [01]\.\d{3}\. Difference [+-]0\.\d{3}, 95 % interval ([+-]\d\.\d+) to ([+-]\d\.\d+)"
    )
    lengths = []
    for one in (many, few):
        low, high = map(float, re.search(pattern, one["detail"]).groups())
        assert (one["level"] == "pass") == (high >= 0)
        lengths.append(high - low)
    assert lengths[1] > 2 * lengths[0]
    weak = SPKMClassifier(n_basis=1, kernel=RBF(50.0), linear_part=False, learn_bandwidth=False, random_state=0)
    model = weak.fit(X[:200], y[:200])
    assert comparison(slice(200, 400))["level"] == "look"
    assert comparison(slice(200, 400), "SPKM06")["level"] == "look"

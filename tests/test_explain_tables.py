"""Explanations of frames: columns are those of the fit, in their order, wherever a table is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from spkm import SPKMClassifier, SPKMRegressor, TableEncoder
from spkm.explain import Normal, counterfactual, expected_scores, explain, prove, with_gaps

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(rng.standard_normal((80, 3)) * [1, 5, 1] + [0, 100, 0], columns=["a", "b", "c"])
SWAPPED = TABLE[["b", "a", "c"]]
Y = (TABLE["a"] - 0.4 * TABLE["b"]).to_numpy()
GAPS = TABLE.mask(TABLE["a"] > 0)


def fitted(X: Any = TABLE) -> Any:
    return SPKMRegressor(2, random_state=0).fit(X, Y)


@pytest.mark.parametrize(
    "use",
    [
        lambda model, X: counterfactual(model, X[:1], target=-38.0),
        lambda model, X: counterfactual(model, X.iloc[0], target=-38.0),
        lambda model, X: counterfactual(model, TABLE[:1], target=-38.0, ranges=X),
        lambda model, X: prove(model, "score <= ?", ranges=X),
        lambda model, X: expected_scores(model, X.mask(X > 0), Normal.of(TABLE)),
        lambda model, X: expected_scores(model, GAPS, X),
        lambda model, X: with_gaps(model, X).predict(GAPS),
        lambda model, X: with_gaps(model, TABLE).predict(X.mask(X > 0)),
        lambda model, X: explain(model, TABLE[:3], Normal.of(X)),
    ],
)
def test_columns_in_another_order_are_refused(use: Callable[[Any, Any], Any]) -> None:
    use(fitted(), TABLE)
    with pytest.raises(ValueError, match=r"must have the columns that the model was fitted on, in the same order\."):
        use(fitted(), SWAPPED)


def test_a_row_of_a_frame_is_a_sample() -> None:
    change = counterfactual(fitted(), TABLE.iloc[3], target=-38.0)
    assert change.changes == counterfactual(fitted(), TABLE.iloc[3].to_numpy(), target=-38.0).changes
    mixed = TABLE.assign(d=np.where(TABLE["c"] > 0, "x", "y"))
    pipeline = make_pipeline(TableEncoder(), SPKMRegressor(2, random_state=0)).fit(mixed, Y)
    row, table = (counterfactual(pipeline, x, target=-38.0) for x in (mixed.iloc[3], mixed[3:4]))
    assert row.changes == table.changes


def test_tables_of_arrow_have_their_names() -> None:
    pa = pytest.importorskip("pyarrow")
    model = fitted()
    found = explain(model, pa.Table.from_pandas(TABLE)).values
    np.testing.assert_array_equal(found, explain(model, TABLE).values)
    with pytest.raises(ValueError, match="in the same order"):
        explain(model, pa.Table.from_pandas(SWAPPED))


def test_differences_are_of_models_of_the_same_features() -> None:
    asked = "difference of scores <= ?"
    with pytest.raises(ValueError, match="other must have the columns"):
        prove(fitted(), asked, other=fitted(SWAPPED), ranges=TABLE)
    rotated, others = (make_pipeline(PCA(), fitted()).fit(X, Y) for X in (TABLE, 2 * TABLE + 3))
    with pytest.raises(ValueError, match="other must have the same steps before its model"):
        prove(rotated, asked, other=others, ranges=TABLE)
    again = make_pipeline(PCA(), fitted()).fit(TABLE, Y)
    assert prove(rotated, asked, other=again, ranges=TABLE).bound == pytest.approx(0, abs=1e-3)
    scaled, others = (make_pipeline(StandardScaler(), fitted()).fit(X, Y) for X in (TABLE, 2 * TABLE + 3))
    assert prove(others, asked, other=scaled, ranges=TABLE).bound >= (others.predict(TABLE) - Y).max() > 1
    levels, renamed = (TABLE.assign(d=np.where(TABLE["c"] > 0, one, two)) for one, two in (("x", "y"), ("y", "z")))
    first, second = (make_pipeline(TableEncoder(), fitted()).fit(X, Y) for X in (levels, renamed))
    with pytest.raises(ValueError, match="other must have the columns"):
        prove(first, asked, other=second, ranges=levels)


SCALERS = (
    [StandardScaler()],
    [StandardScaler(with_mean=False), "passthrough", MinMaxScaler((-2, 3))],
    [MaxAbsScaler()],
    [RobustScaler(with_centering=False)],
    [RobustScaler(with_scaling=False), StandardScaler(with_std=False)],
    [TableEncoder(), StandardScaler()],
)


@pytest.mark.parametrize("scalers", SCALERS, ids=str)
@pytest.mark.parametrize("options", [{}, {"scale": False}, {"basis": "samples"}], ids=str)
def test_behind_scalers_explanations_are_in_the_users_units(scalers: list[Any], options: dict[str, Any]) -> None:
    pipeline = make_pipeline(*scalers, SPKMRegressor(2, random_state=0, **options)).fit(TABLE, Y)
    found, row = explain(pipeline, TABLE[:4]), TABLE[5:6]
    np.testing.assert_allclose(found.data, TABLE[:4])
    np.testing.assert_allclose(found.scores[:, 0], pipeline.predict(TABLE[:4]), rtol=1e-9)
    change = counterfactual(pipeline, row, target=(-36.0, -35.0), ranges=TABLE)
    assert {name: old for name, (old, _) in change.changes.items()} == pytest.approx(
        {name: float(row[name].iloc[0]) for name in change.changes}
    )
    moved = row.assign(**{name: [new] for name, (_, new) in change.changes.items()})
    assert -36 <= pipeline.predict(moved)[0] <= -35
    proof = prove(pipeline, "prediction <= ? where b <= 95", ranges=TABLE)
    assert proof.bound >= pipeline.predict(TABLE[TABLE["b"] <= 95]).max()
    assert pipeline.predict(pd.DataFrame([proof.sample])[list(TABLE)])[0] == pytest.approx(proof.found, rel=1e-6)


@pytest.mark.parametrize("multi_class", ["joint", "ovo"])
def test_behind_scalers_classes_have_their_scores(multi_class: str) -> None:
    y = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
    pipeline = make_pipeline(StandardScaler(), SPKMClassifier(2, multi_class=multi_class, random_state=0)).fit(TABLE, y)
    np.testing.assert_allclose(
        explain(pipeline, TABLE[:9]).scores, explain(pipeline[-1], pipeline[:-1].transform(TABLE[:9])).scores, rtol=1e-9
    )


def test_names_say_that_units_are_others() -> None:
    for steps, names in (
        ([PowerTransformer()], ["powertransformer(a)", "powertransformer(b)", "powertransformer(c)"]),
        ([StandardScaler(), SelectKBest(f_regression, k=2)], ["standardscaler(a)", "standardscaler(b)"]),
        ([SimpleImputer(), "passthrough", StandardScaler()], ["a", "b", "c"]),
        ([PCA()], ["pca0", "pca1", "pca2"]),
        (
            [PowerTransformer().set_output(transform="pandas")],
            ["powertransformer(a)", "powertransformer(b)", "powertransformer(c)"],
        ),
        (
            [SimpleImputer().set_output(transform="pandas"), FunctionTransformer(np.cbrt), StandardScaler()],
            ["functiontransformer(a)", "functiontransformer(b)", "functiontransformer(c)"],
        ),
    ):
        pipeline = make_pipeline(*steps, SPKMRegressor(2, random_state=0)).fit(TABLE, Y)
        assert list(explain(pipeline, TABLE[:2]).feature_names) == names
    pipeline = make_pipeline(PowerTransformer(), SPKMRegressor(2, random_state=0)).fit(TABLE, Y)
    with pytest.raises(ValueError, match=r"a feature that the model does not have: 'b'\. It has powertransformer\(a\)"):
        prove(pipeline, "score <= ? where b <= 95", ranges=TABLE)

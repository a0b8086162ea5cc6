"""Predictions from the plain form of a model, by NumPy alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spkm.persistence._check_plain import bounds_of, check_normalization, check_plain
from spkm.persistence._decisions import decisions, ordered_codes, probabilities, spread_weights, survival
from spkm.persistence._encoding import (
    columns_of,
    encode,
    encoder_of,
    in_order,
    n_columns,
    starts_of,
    values_of,
    width_of,
)
from spkm.persistence._formulas import bounded_exp, kernel_value, of_distance, of_product
from spkm.persistence._plain import class_array

if TYPE_CHECKING:
    from spkm._arrays import TableLike

AT_ONCE = 2**17  # differences that are held at once: a megabyte


class NumpyModel:
    """A fitted model that predicts, and needs nothing but NumPy.

    Samples are arrays of shape (n_samples, n_features), of pairs the columns of both entities side by side. Behind an
    encoder they are tables: frames, or lists of rows of numbers and texts, None where a value is missing. Its methods
    return what those of the estimator or pipeline do, but for rounding.

    Parameters
    ----------
    plain : dict
        The model as plain data, :func:`spkm.persistence.plain_model`.
    normalization : ndarray of shape (n_basis, n_basis), default=None
        Matrix that :meth:`transform` multiplies the similarities by, for :class:`spkm.SPKMNystroem`.

    Attributes
    ----------
    task : {"regression", "classes", "labels", "ordered"}
        Kind of its predictions.
    n_features, feature_names : int and list of str or None
        The columns of a sample, those of the table where there is an encoder.
    classes_ : ndarray or None
        The classes; of ordered ones the lowest first.
    event_times_ : ndarray or None
        Times of :meth:`predict_survival_function`, for :class:`spkm.SPKMSurvival`.

    Examples
    --------
    >>> from spkm import SPKMRegressor
    >>> from spkm.persistence import NumpyModel, plain_model
    >>> model = SPKMRegressor(n_basis=2, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0])
    >>> light = NumpyModel(plain_model(model.model_))
    >>> bool(abs(light.predict([[1.5]]) - model.predict([[1.5]])) < 1e-9)
    True
    """

    def __init__(self, plain: dict[str, Any], normalization: np.ndarray | None = None) -> None:
        check_plain(plain)
        if normalization is not None:
            check_normalization(normalization)
        self.plain = plain
        self.normalization = normalization
        self.task: str = plain["task"]
        self.n_features: int = n_columns(plain)
        self.feature_names: list[str] | None = columns_of(plain)
        self.members = [ready_member(member) for member in plain["members"]]
        self._weights = [member_weights(member) for member in self.members]
        self._groups = column_groups(plain)
        self._column_effects: Any = None
        self.classes_ = None if plain["classes"] is None else class_array(plain["classes"])
        baseline = plain.get("survival")
        self.event_times_ = None if baseline is None else np.asarray(baseline["times"], dtype=np.float64)

    def similarities(self, X: TableLike) -> np.ndarray:
        """Return k(x, u_r) for every sample and basis vector, (n_samples, n_basis)."""
        return self.similarities_of(self._rows(X))

    def similarities_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the same of checked numbers, (n_samples, n_features of the model)."""
        return np.concatenate([member_similarities(member, rows) for member in self.members], axis=1)

    def scores(self, X: TableLike) -> np.ndarray:
        """Return f(x) for every sample, (n_samples, n_outputs)."""
        return self.scores_of(self._rows(X))

    def scores_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the same of checked numbers."""
        parts = []
        for member, weights in zip(self.members, self._weights, strict=True):
            parts.append(member_similarities(member, rows) @ weights + member["intercept"])
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def contributions(self, X: TableLike) -> np.ndarray:
        """Return what each basis vector adds to the scores, (n_samples, n_basis, n_outputs)."""
        return self.contributions_of(self._rows(X))

    def contributions_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the same of checked numbers."""
        return self.similarities_of(rows)[:, :, None] * spread_weights(self.plain, self._weights)

    def decision_function(self, X: TableLike) -> np.ndarray:
        """Return what classes are decided by: a score for each, or one for two classes."""
        if self.task == "regression":
            raise AttributeError("decision_function is for classes and labels; this model is a regression.")
        return self.decisions_from(self.scores(X))

    def decisions_from(self, F: np.ndarray) -> np.ndarray:
        """Return the same from scores, (n_samples, n_outputs)."""
        found = decisions(self.plain, F)
        return found if self.plain["two_dimensional"] else found[:, 0]

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Return the probability of every class or label, where the loss of the fit gives them."""
        if self.plain["probabilities"] is None:
            raise AttributeError("predict_proba needs a model that gives probabilities: one fitted with loss='log'.")
        return self.probabilities_from(self.scores(X))

    def probabilities_from(self, F: np.ndarray) -> np.ndarray:
        """Return probabilities from scores, (n_samples, n_outputs)."""
        return probabilities(self.plain, F)

    def effects(self, X: TableLike) -> tuple[np.ndarray, np.ndarray]:
        """Return scores, and how much each column of a sample moves them: reasons for a prediction.

        The effect of a column is f(x) minus the score of the same sample with that column at its usual value, the
        centre of the samples of the fit (zero where features were not centred). All columns that an encoder makes of
        a column of the table change together. Effects do not add up where columns act together; those of
        :func:`spkm.explain.explain`, Shapley values, do.

        Parameters
        ----------
        X : samples
            As everywhere.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_outputs)
            Scores as of :meth:`scores`.
        effects : ndarray of shape (n_samples, n_columns, n_outputs)
            Zero for columns that the model does not read.
        """
        rows, (columns, copies, features) = self._rows(X), self._groups
        if self._column_effects is None:
            from spkm.persistence._column_effects import ColumnEffects, are_sums

            able = are_sums(self.members) and len(columns) > 0
            self._column_effects = (
                ColumnEffects(self.members, self._groups, usual_values(self.plain)) if able else False
            )
        if self._column_effects:
            scores, moved = self._column_effects(rows)
            if len(columns) == self.n_features:
                return scores, moved
            effects = np.zeros((len(rows), self.n_features, scores.shape[1]))
            effects[:, columns] = moved
            return scores, effects
        changed = np.repeat(rows[:, None, :], len(columns) + 1, axis=1)
        changed[:, copies, features] = usual_values(self.plain)[features]
        F = self.scores_of(changed.reshape(-1, rows.shape[1])).reshape(len(rows), len(columns) + 1, -1)
        effects = np.zeros((len(rows), self.n_features, F.shape[2]))
        effects[:, columns] = F[:, :1] - F[:, 1:]
        return F[:, 0], effects

    def predict(self, X: TableLike) -> np.ndarray:
        """Return predictions: numbers, classes, or a matrix that indicates labels."""
        return self.predict_from(self.scores(X))

    def predict_from(self, F: np.ndarray) -> np.ndarray:
        """Return predictions from scores, (n_samples, n_outputs)."""
        if self.task == "regression":
            F = bounded_exp(np, F) if self.plain["link"] == "exp" else F
            return F if self.plain["two_dimensional"] else F[:, 0]
        found = decisions(self.plain, F)
        if self.task == "labels":
            return (found > 0).astype(int)
        assert self.classes_ is not None
        if self.task == "ordered":
            return self.classes_[ordered_codes(self.plain, F[:, 0])]
        return self.classes_[
            np.argmax(found, axis=1) if self.plain["two_dimensional"] else (found[:, 0] > 0).astype(int)
        ]

    def predict_survival_function(self, X: TableLike) -> np.ndarray:
        """Return the probability of no event until each of ``event_times_``, (n_samples, n_times)."""
        if self.event_times_ is None:
            raise AttributeError("predict_survival_function needs the model of an SPKMSurvival.")
        return self.survival_from(self.scores(X))

    def survival_from(self, F: np.ndarray) -> np.ndarray:
        """Return the same from scores, (n_samples, 1)."""
        return survival(self.plain, F[:, 0])

    def transform(self, X: TableLike) -> np.ndarray:
        """Return the features of :class:`spkm.SPKMNystroem`, (n_samples, n_components)."""
        if self.normalization is None:
            raise AttributeError("transform needs the file of an SPKMNystroem.")
        return self.similarities(X) @ self.normalization

    def _rows(self, X: TableLike) -> np.ndarray:
        encoder = encoder_of(self.plain)
        if encoder is not None:
            return encode(encoder, X, self.plain["n_features"])
        if hasattr(X, "columns") and self.feature_names is not None:  # a frame of any library
            X = in_order(X, self.feature_names)
        elif isinstance(X, list):
            X = [values_of(row, self.feature_names) for row in X]
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"X must have the shape (n_samples, {self.n_features}); got {rows.shape}.")
        if not np.isfinite(rows).all():
            raise ValueError("X must hold finite numbers; it has some that are not.")
        return rows


def column_groups(plain: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns of the user's table that are read, and the features that come from them.

    Returns
    -------
    columns : ndarray of int
        The columns.
    places, features : ndarray of int
        The features, each with the place of its column among those, from 1.
    """
    read = np.unique(np.concatenate([np.asarray(member["features"], dtype=int) for member in plain["members"]]))
    encoder = encoder_of(plain)
    if encoder is None:
        return read, np.arange(1, len(read) + 1), read
    found = [(j, np.arange(first, first + width_of(plan))) for j, plan, first in starts_of(encoder)]
    found = [(j, features) for j, features in found if np.isin(features, read).any()]
    copies = np.repeat(np.arange(1, len(found) + 1), [len(features) for _, features in found])
    return np.array([j for j, _ in found], dtype=int), copies, np.concatenate([features for _, features in found])


def usual_values(plain: dict[str, Any]) -> np.ndarray:
    """Return a usual value of every feature: the centre of the samples of the fit, or zero."""
    usual = np.zeros(plain["n_features"])
    for member in plain["members"]:
        if member["scaling"] is not None:
            usual[np.asarray(member["features"], dtype=int)] = member["scaling"]["center"]
    return usual


def member_weights(member: dict[str, Any]) -> np.ndarray:
    """Return the weights of all basis vectors of a member, (R, m)."""
    return np.concatenate([term["weights"] for term in member["terms"]])


def ready_member(member: dict[str, Any]) -> Any:
    """Return a member whose parts are arrays that nothing has to be done to, with metrics as wide as their views."""
    terms = []
    for term in member["terms"]:
        views = []
        for view in term["views"]:
            columns = np.asarray(view["columns"], dtype=np.intp)
            basis = np.asarray(view["basis"], dtype=np.float64).reshape(len(term["weights"]), len(columns))
            kernel = ready_kernel(view["kernel"], len(columns))
            views.append({**view, "columns": columns, "basis": basis, "kernel": kernel})
        terms.append({**term, "weights": np.asarray(term["weights"], dtype=np.float64), "views": views})
    scaling = member["scaling"]
    if scaling is not None:
        bounds = {"low": bounds_of(scaling["low"], -np.inf), "high": bounds_of(scaling["high"], np.inf)}
        scaling = {**{part: np.asarray(scaling[part], dtype=np.float64) for part in ("center", "scale")}, **bounds}
    intercept = np.asarray(member["intercept"], dtype=np.float64)
    features = np.asarray(member["features"], dtype=np.intp)
    return {**member, "features": features, "scaling": scaling, "intercept": intercept, "terms": terms}


def ready_kernel(kernel: dict[str, Any], width: int) -> Any:
    """Return a kernel in plain form with a metric for each of so many features."""
    ready = {
        name: ready_kernel(part, width) if name in ("kernel", "left", "right") else part
        for name, part in kernel.items()
    }
    if "metric" in kernel:
        ready["metric"] = np.array(np.broadcast_to(np.asarray(kernel["metric"], dtype=np.float64), (width,)))
    return ready


def scaled(member: dict[str, Any], X: np.ndarray) -> np.ndarray:
    """Return the features of a member on its scale."""
    Z, scaling = X.take(member["features"], axis=1), member["scaling"]
    if scaling is None:
        return Z
    Z -= scaling["center"]
    Z /= scaling["scale"]
    np.maximum(Z, scaling["low"], out=Z)
    return np.minimum(Z, scaling["high"], out=Z)


def member_similarities(member: dict[str, Any], X: np.ndarray) -> np.ndarray:
    """Return the values of the kernels of a member, (n, R)."""
    Z = scaled(member, X)
    found = []
    with np.errstate(over="ignore"):
        for term in member["terms"]:
            values: Any = None
            for view in term["views"]:
                columns = view["columns"]  # they rise, so that as many as there are features are all of them
                seen = Z if len(columns) == Z.shape[1] else Z[:, columns]
                own = kernel_values(view["kernel"], seen, view["basis"])
                values = own if values is None else values * own
            found.append(values)
    return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


def kernel_values(kernel: dict[str, Any], X: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Return k(x, u), (n, R), of a kernel as a tree of formulas."""

    def sums(kind: str, metric: np.ndarray) -> np.ndarray:
        if kind == "xu":
            return X @ (U * metric).T
        if kind in ("xx", "uu"):
            return (np.square(X) @ metric)[:, None] if kind == "xx" else (np.square(U) @ metric)[None, :]
        size = np.square if kind == "squares" else np.abs
        if len(X) * U.size <= AT_ONCE:  # of few samples by one product, as loops take time
            return size(X[:, None, :] - U) @ metric
        return np.stack([size(X - u) @ metric for u in U], axis=1)

    return kernel_value(np, kernel, sums)


def parts_of_sum(kernel: dict[str, Any], X: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Return the parts of the features in the sum that a kernel is a function of, (n, R, d)."""
    if kernel["name"] in ("linear", "polynomial"):
        return X[:, None, :] * (U * kernel["metric"])
    apart = X[:, None, :] - U
    np.abs(apart, out=apart) if kernel["name"] == "laplacian" else np.square(apart, out=apart)
    apart *= kernel["metric"]
    return apart


def of_sum(kernel: dict[str, Any], s: np.ndarray) -> np.ndarray:
    """Return the values of a kernel from those sums."""
    return of_product(kernel, s) if kernel["name"] in ("linear", "polynomial") else of_distance(np, kernel, s)

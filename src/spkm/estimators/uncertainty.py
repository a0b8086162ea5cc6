"""A fitted estimator with refits of its samples, from which error bars of explanations come."""

from __future__ import annotations

from copy import copy
from typing import Any

from sklearn.utils.multiclass import is_multilabel
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import RandomState, TableLike, TargetLike, WeightLike
from spkm._checks import check_integer, generator
from spkm._publish import feature_names
from spkm.fitting.refits import with_refits
from spkm.tables.read import read_table

FEWEST = 2  # refits that have a standard deviation


def with_uncertainty(
    self: Any,
    X: TableLike,
    y: TargetLike,
    sample_weight: WeightLike = None,
    *,
    n_refits: int = 15,
    random_state: RandomState = None,
) -> Any:
    """Return a copy of the fitted estimator whose explanations have error bars.

    The samples are fitted again with random weights, each time from where the model is. A number of these refits
    varies as it would if the model had been fitted to other samples of the same kind. That is variation, not bias:
    an effect that the model smooths away is missing in all of them.

    Parameters
    ----------
    X, y, sample_weight
        The samples of the fit, in memory.
    n_refits : int, default=15
        Number of refits; 15 give a standard deviation to about a fifth.
    random_state : int, Generator or None, default=None
        Source of the random weights.

    Returns
    -------
    estimator : estimator
        It predicts the same. ``model_.refits`` are the models of the refits, each with the same basis vectors, moved;
        model files keep them. The choice of features, of strengths and of the number of vectors is not made again.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMRegressor
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(100, 2))
    >>> model = SPKMRegressor(4, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model = model.with_uncertainty(X, np.sin(X[:, 0]), random_state=0)
    >>> model.explain(X[:3]).bars().values.shape
    (3, 2, 1)
    """
    check_is_fitted(self)
    check_integer("n_refits", n_refits, FEWEST)
    table = read_table(self, X, y, sample_weight, multi_output=not self.model_.target.of_classes or is_multilabel(y))
    before, now = feature_names(self), table.attributes.get("feature_names_in_")
    if table.X.shape[1] != self.n_features_in_ or (
        before is not None and now is not None and list(before) != list(now)
    ):
        raise ValueError("X must be the samples of the fit: it has other features. Fit the estimator to this X first.")
    spec, data = self._spec_and_data(X, table)
    found = copy(self)
    found.model_ = with_refits(spec, data, self.model_, n_refits, generator(random_state))
    if not found.model_.is_joint:
        found.estimators_ = [copy(part) for part in self.estimators_]
        for part, member in zip(found.estimators_, found.model_.members, strict=True):
            part.model_ = member
    return found

"""Targets that no feature tells anything of: the model is a constant, and says so."""

import pickle

import numpy as np
import pytest

from spkm import SPKMClassifier, SPKMRegressor

D = 5


def test_nothing_is_selected_in_noise_and_a_warning_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, D)), rng.integers(2, size=60)
    with pytest.warns(UserWarning, match="No feature is selected"):
        model = SPKMClassifier(kernel="linear", selection="strict", random_state=0).fit(X, y)
    assert model.selected_features_.size == 0 and not model.get_support().any()
    assert not model.feature_importances_.any() and not model.fold_frequency_.any() and model.alternatives_ == {}
    np.testing.assert_allclose(model.predict_proba(X), np.broadcast_to([1 - y.mean(), y.mean()], (60, 2)), atol=1e-4)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.warns(UserWarning, match="No feature is selected"):
        real = SPKMRegressor(selection="strict", random_state=0).fit(X, rng.standard_normal(60))
    assert real.selected_features_.size == 0 and len(set(real.predict(X))) == 1

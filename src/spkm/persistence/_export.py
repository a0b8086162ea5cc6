"""Fitted models as code of other languages: the suffix of a path says which."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spkm._publish import feature_names as names_of_fit
from spkm.persistence._compiled import CompiledModel
from spkm.persistence._container import write_bytes
from spkm.persistence._decisions import spread_weights
from spkm.persistence._encoding import with_twins
from spkm.persistence._pipelines import composed
from spkm.persistence._plain import jsonable, plain_model, with_javascript_classes
from spkm.persistence._runtime import member_weights
from spkm.tables.pipelines import last_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from spkm._arrays import FileName

PYTHON_ENGINE, PYTHON_FORMULAS = "_engine_python.py", "_formulas.py"
#: The module that writes each format: a function ``text(plain)``, or ``content(plain)`` where it is no text.
FORMATS = {
    ".json": "_export",
    ".js": "_export",
    ".py": "_export",
    ".c": "_export_c",
    ".h": "_export_c",
    ".sql": "_export_sql",
    ".onnx": "_export_onnx",
}


def export(estimator: BaseEstimator, path: FileName, *, details: bool = False, times: Any = None) -> None:
    """Write a fitted model as code that predicts without this library.

    Parameters
    ----------
    estimator : fitted estimator or Pipeline
        A classifier or a regressor, of samples or of pairs (whose features are those of both entities side by side); or
        a pipeline of a :class:`spkm.TableEncoder`, an :class:`spkm.SPKMSelector` and a model, or some of them.
    path : str or path
        File to write; its suffix sets the form: ".json" (plain form), ".js" (JavaScript, for browsers and Node), ".py"
        (Python without any package), ".c" or ".h" (a header of C99), ".sql" (a query) or ".onnx".
    details : bool, default=False
        For ".sql": whether the query returns the similarities to the basis vectors, and the scores of pairs of classes
        where there are any, beside prediction, probabilities and scores. Other formats always have them.
    times : array-like of shape (n_times,), default=None
        For :class:`spkm.SPKMSurvival`: times until which the code gives the probability of no event; None are the nine
        deciles of ``event_times_``.

    Examples
    --------
    >>> import runpy, tempfile
    >>> from spkm import SPKMClassifier
    >>> model = SPKMClassifier(n_basis=2, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(model, f"{folder}/model.py")
    ...     code = runpy.run_path(f"{folder}/model.py")
    >>> code["predict"]([3.0])
    'b'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"path must end with one of {', '.join(FORMATS)}; got {str(path)!r}.")
    if details and suffix != ".sql":
        raise ValueError(f"details is for paths that end with .sql: other formats always have them; got {str(path)!r}.")
    plain = plain_of(estimator, times)
    content = writer_of(suffix)(plain, details=True) if details else writer_of(suffix)(plain)
    write_bytes(path, content.encode("utf-8") if isinstance(content, str) else content)


def writer_of(suffix: str) -> Callable[..., Any]:
    """Return the function from a plain model to the content of a file."""
    if FORMATS[suffix] == "_export":
        return {".json": json_text, ".js": javascript_text, ".py": python_text}[suffix]
    return import_module(f"spkm.persistence.{FORMATS[suffix]}").content


def plain_of(estimator: BaseEstimator, times: Any = None) -> dict[str, Any]:
    """Return the plain form of a fitted estimator that predicts; ``times`` are those of survival probabilities."""
    check_is_fitted(estimator)
    whole, estimator = estimator, last_of(estimator)
    # A selector has a model and predicts nothing.
    if "model_" not in vars(estimator) or not hasattr(estimator, "predict"):
        raise TypeError(
            f"Exports are for our estimators that predict; got {type(estimator).__name__}. Use save instead; of an "
            "SPKMCCA export side('x') and side('y')."
        )
    names = names_of_fit(estimator)
    if "_pairs" in vars(estimator):
        sides = zip(("left", "right"), estimator._pairs.layouts, strict=True)
        own = [(side, range(t.width) if t.names is None else t.names) for side, t in sides]
        names = [f"{side} {name}" for side, inside in own for name in inside]
    return composed(whole, {**plain_model(estimator.model_, names), **estimator._beside_scores(times)})


def compiled(estimator: BaseEstimator, method: str = "predict", times: Any = None) -> CompiledModel:
    """Return a fitted model as a function of one sample; see :class:`CompiledModel`.

    Parameters
    ----------
    estimator : fitted estimator or Pipeline
        A classifier or a regressor, or a pipeline as in :func:`export`.
    method : {"predict", "predict_proba", "decision_function", "predict_survival_function", "similarities", \
            "contributions"}, default="predict"
        Method that the function stands for.
    times : array-like of shape (n_times,), default=None
        For survival probabilities, as in :func:`export`.

    Returns
    -------
    function : CompiledModel
        The function.
    """
    return CompiledModel(plain_of(estimator, times), method)


def json_text(plain: dict[str, Any]) -> str:
    """Return the plain form as JSON, for every engine."""
    return json.dumps(_for_engines(plain), allow_nan=False) + "\n"


def _for_engines(plain: dict[str, Any]) -> Any:
    return jsonable(with_javascript_classes(with_twins(plain)))


def javascript_text(plain: dict[str, Any]) -> str:
    """Return the engine with the model: ``spkm.predict(row)`` in a browser, ``require("./model.js")`` in Node."""
    engine = Path(__file__).with_name("_engine.js").read_text(encoding="utf-8")
    engine = engine[: engine.index("if (typeof module")].rstrip()
    # "<" could end a <script>, or begin a comment in one, wherever it stands in the page.
    data = json.dumps(_for_engines(plain), allow_nan=False).replace("<", "\\u003c")
    return f"""{engine}

const spkm = spkmModel({data});
if (typeof module !== "undefined" && module.exports) module.exports = spkm;
"""


def python_text(plain: dict[str, Any]) -> str:
    """Return a module of functions of one sample, which imports the standard library alone."""
    engine, formulas = (Path(__file__).with_name(name).read_text("utf-8") for name in (PYTHON_ENGINE, PYTHON_FORMULAS))
    lines = "".join(f"    {key!a}: {value!a},\n" for key, value in jsonable(with_twins(plain)).items())
    about, rest = engine[: engine.index("import math")], engine[engine.index("MODEL: dict") :]
    rest = rest.replace("MODEL: dict = {}\n", f"MODEL: dict = {{\n{lines}}}\n")
    return f"{about}{formulas[formulas.index('from __future__') :]}\n\n{rest}"


# Parts of a model that several formats need


def feature_names(plain: dict[str, Any]) -> list[str]:
    """Return the names of the features; x0, x1 and so on where they have none."""
    return plain["feature_names"] or [f"x{j}" for j in range(plain["n_features"])]


def joint_weights(plain: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (R, m) and intercept (m,) of the basis vectors of all members, one after another."""
    intercept = np.concatenate([member["intercept"] for member in plain["members"]])
    return spread_weights(plain, [member_weights(member) for member in plain["members"]]), intercept


def with_constants(plain: dict[str, Any], weights: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and intercept with a column for each output that no member learns: a constant."""
    if plain["constants"] is None:
        return weights, intercept
    learned = [k for k, constant in enumerate(plain["constants"]) if constant is None]
    whole = np.zeros((len(weights), len(plain["constants"])))
    whole[:, learned] = weights
    start = np.array([0.0 if constant is None else constant for constant in plain["constants"]])
    start[learned] = intercept
    return whole, start

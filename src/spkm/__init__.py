"""Sparse pre-image kernel machines: small, readable kernel models with learned basis vectors."""

from importlib import import_module

TYPE_CHECKING = False  # for type checkers it is true; importing it from typing would take 10 ms
if TYPE_CHECKING:
    from spkm import (
        checking,
        cli,
        conformal,
        datasets,
        ensemble,
        estimators,
        evidence,
        explain,
        fitted,
        inspection,
        kernels,
        losses,
        model,
        objective,
        penalties,
        persistence,
        posterior,
        problem,
        profiled,
        selection,
        solvers,
        sources,
        starts,
        targets,
        theory,
    )
    from spkm.estimators import (
        FileTable,
        PairKFold,
        PairwiseSPKMClassifier,
        PairwiseSPKMRegressor,
        SPKMClassifier,
        SPKMClassifierCV,
        SPKMNystroem,
        SPKMRegressor,
        SPKMRegressorCV,
        SPKMSelector,
        TableEncoder,
        sparsity_path,
        stability_selection,
        write_predictions,
    )
    from spkm.model import Term, View
    from spkm.persistence import load, save

__all__ = [
    "FileTable",
    "PairKFold",
    "PairwiseSPKMClassifier",
    "PairwiseSPKMRegressor",
    "SPKMClassifier",
    "SPKMClassifierCV",
    "SPKMNystroem",
    "SPKMRegressor",
    "SPKMRegressorCV",
    "SPKMSelector",
    "TableEncoder",
    "Term",
    "View",
    "load",
    "save",
    "sparsity_path",
    "stability_selection",
    "write_predictions",
]
#: The one place of the version: the build reads it from here.
__version__ = "0.2.0"

# Names are imported when they are first used, so that `import spkm` and the command's help need neither NumPy nor
# scikit-learn. The names of __all__ come from estimators, unless this says otherwise.
_ELSEWHERE = {"Term": "model", "View": "model", "load": "persistence", "save": "persistence"}
_MODULES = (
    "checking",
    "cli",
    "conformal",
    "datasets",
    "ensemble",
    "estimators",
    "evidence",
    "explain",
    "fitted",
    "inspection",
    "kernels",
    "losses",
    "model",
    "nearest",
    "objective",
    "penalties",
    "persistence",
    "posterior",
    "problem",
    "profiled",
    "selection",
    "solvers",
    "sources",
    "starts",
    "targets",
    "theory",
)


if not TYPE_CHECKING:  # else they would take every misspelt name for one of ours

    def __getattr__(name):
        if name in _MODULES:
            return import_module(f"spkm.{name}")
        if name not in __all__:
            raise AttributeError(f"module 'spkm' has no attribute {name!r}")
        value = getattr(import_module(f"spkm.{_ELSEWHERE.get(name, 'estimators')}"), name)
        globals()[name] = value  # the next time it is found without a call
        return value

    def __dir__():
        special = {name for name in globals() if name.startswith("__")}
        return sorted({*special, *__all__, *_MODULES})

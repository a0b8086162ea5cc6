"""Sparse pre-image kernel machines: small, readable kernel models with learned basis vectors."""

from importlib import import_module

TYPE_CHECKING = False  # for type checkers it is true; importing it from typing would take 10 ms
if TYPE_CHECKING:
    from spkm import (
        cca,
        checking,
        cli,
        conformal,
        core,
        datasets,
        estimators,
        explain,
        fitting,
        inspection,
        kernels,
        losses,
        penalties,
        persistence,
        selection,
        solvers,
        sources,
        tables,
        theory,
    )
    from spkm.core.model import Term, View
    from spkm.estimators import (
        SPKMCCA,
        PairwiseSPKMClassifier,
        PairwiseSPKMRegressor,
        SPKMClassifier,
        SPKMClassifierCV,
        SPKMNystroem,
        SPKMOrdinalClassifier,
        SPKMRegressor,
        SPKMRegressorCV,
        SPKMSelector,
        SPKMSurvival,
        algorithm1,
        sparsity_path,
        stability_selection,
    )
    from spkm.persistence import load, save
    from spkm.tables import FileTable, PairKFold, TableEncoder, write_predictions

__all__ = [
    "SPKMCCA",
    "FileTable",
    "PairKFold",
    "PairwiseSPKMClassifier",
    "PairwiseSPKMRegressor",
    "SPKMClassifier",
    "SPKMClassifierCV",
    "SPKMNystroem",
    "SPKMOrdinalClassifier",
    "SPKMRegressor",
    "SPKMRegressorCV",
    "SPKMSelector",
    "SPKMSurvival",
    "TableEncoder",
    "Term",
    "View",
    "algorithm1",
    "load",
    "save",
    "sparsity_path",
    "stability_selection",
    "write_predictions",
]
#: The one place of the version: the build reads it from here.
__version__ = "0.3.0"

# Names are imported when they are first used, so that `import spkm` and the command's help need neither NumPy nor
# scikit-learn. The names of __all__ come from estimators, unless this says otherwise.
_ELSEWHERE = {
    "FileTable": "tables",
    "PairKFold": "tables",
    "TableEncoder": "tables",
    "Term": "core.model",
    "View": "core.model",
    "load": "persistence",
    "save": "persistence",
    "write_predictions": "tables",
}
_MODULES = (
    "cca",
    "checking",
    "cli",
    "conformal",
    "core",
    "datasets",
    "estimators",
    "explain",
    "fitting",
    "inspection",
    "kernels",
    "losses",
    "penalties",
    "persistence",
    "selection",
    "solvers",
    "sources",
    "tables",
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

"""Fitted models as files and as code: without pickle, and without what they were fitted with.

``docs/deploy.md`` shows how. Names are imported when they are first used: predicting from a file needs NumPy alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spkm.persistence._compiled import CompiledModel
    from spkm.persistence._container import ModelFileError
    from spkm.persistence._export import compiled, export
    from spkm.persistence._files import fingerprint, save
    from spkm.persistence._load import describe, load
    from spkm.persistence._monitor import Drift, monitor, summarize
    from spkm.persistence._objects import register
    from spkm.persistence._plain import plain_model
    from spkm.persistence._runtime import NumpyModel
    from spkm.persistence._skl2onnx import register_skl2onnx
    from spkm.persistence._trusted import TRUSTED_TYPES

__all__ = [
    "TRUSTED_TYPES",
    "CompiledModel",
    "Drift",
    "ModelFileError",
    "NumpyModel",
    "compiled",
    "describe",
    "export",
    "fingerprint",
    "load",
    "monitor",
    "plain_model",
    "register",
    "register_skl2onnx",
    "save",
    "summarize",
]
_MODULES = {
    "_compiled": "CompiledModel",
    "_container": "ModelFileError",
    "_export": "compiled export",
    "_files": "fingerprint save",
    "_load": "describe load",
    "_monitor": "Drift monitor summarize",
    "_objects": "register",
    "_plain": "plain_model",
    "_runtime": "NumpyModel",
    "_skl2onnx": "register_skl2onnx",
    "_trusted": "TRUSTED_TYPES",
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names.split()}

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _WHERE:
            raise AttributeError(f"module 'spkm.persistence' has no attribute {name!r}")
        value = getattr(import_module(f"spkm.persistence.{_WHERE[name]}"), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})

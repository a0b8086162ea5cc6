"""Our types by name, for skops: ``skops.io.load(path, trusted=spkm.persistence.TRUSTED_TYPES)``."""

from __future__ import annotations

from scipy import sparse

from spkm.core.fitted import FittedModel, FittedTerm, FittedView, ModelEnsemble
from spkm.core.model import PreimageModel
from spkm.persistence._files import ESTIMATORS
from spkm.persistence._objects import CLASSES, RECORDS, TARGETS
from spkm.sources import Scaling
from spkm.tables import TableEncoder
from spkm.tables.columns import FeatureOrigin, LevelPlan, NumberPlan
from spkm.tables.pairs import Entities

_OWN = (
    *(Entities, FittedModel, FittedTerm, FittedView, ModelEnsemble, PreimageModel, Scaling),
    *(TableEncoder, FeatureOrigin, LevelPlan, NumberPlan),
    *(sparse.csr_array, sparse.csr_matrix),  # tables of entities; skops has other sparse matrices
    *ESTIMATORS.values(),
    *CLASSES.values(),
    *RECORDS.values(),
    *TARGETS.values(),
)
#: Names of all classes that a fitted estimator of this library is made of.
TRUSTED_TYPES = sorted({f"{cls.__module__}.{cls.__qualname__}" for cls in _OWN})

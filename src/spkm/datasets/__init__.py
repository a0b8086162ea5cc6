"""Made-up data sets with a known relation between features and targets: nothing is read, nothing is fetched."""

from spkm.datasets._made import make_inverse_dynamics, make_sparse_relation, make_spirals, make_waves
from spkm.datasets._spectra import Spectra, make_spectra

__all__ = [
    "Spectra",
    "make_inverse_dynamics",
    "make_sparse_relation",
    "make_spectra",
    "make_spirals",
    "make_waves",
]

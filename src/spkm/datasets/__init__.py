"""Made-up data sets with a known relation between features and targets: nothing is read, nothing is fetched."""

from spkm.datasets._made import make_inverse_dynamics, make_sparse_relation, make_spirals, make_waves

__all__ = ["make_inverse_dynamics", "make_sparse_relation", "make_spirals", "make_waves"]

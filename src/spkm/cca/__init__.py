"""Sparse kernel canonical correlation analysis: the mathematics. The estimator is :class:`spkm.SPKMCCA`.

A component is a pair of functions, k_x(x, u) of one table and k_y(y, v) of the other, whose values on paired samples
are as correlated as possible, with few features in each. Nothing of size n x n is computed: a step costs O(n (d_x +
d_y)).

References
----------
Uurtio, Bhadra, Rousu: Large-scale sparse kernel canonical correlation analysis, ICML 2019.
"""

from spkm.cca._ascent import Found, ascend
from spkm.cca._fitted import FittedSide, fitted_side
from spkm.cca._objective import Correlation, Table, component_scores
from spkm.cca._search import Component, Effort, search
from spkm.cca._sides import Side, on_sphere

__all__ = [
    "Component",
    "Correlation",
    "Effort",
    "FittedSide",
    "Found",
    "Side",
    "Table",
    "ascend",
    "component_scores",
    "fitted_side",
    "on_sphere",
    "search",
]

"""Kernels and their names. A new one is a class with two formulas: see ``docs/extend.md``."""

from spkm._parts import Registry
from spkm.kernels._base import (
    DistanceKernel,
    DotKernel,
    InvariantKernel,
    Kernel,
    Pullback,
    gathered,
    squared,
    squared_norms,
)
from spkm.kernels._combine import Affine, Product, Rescaled, Sum
from spkm.kernels._distance import RBF, Laplacian, Matern, RationalQuadratic
from spkm.kernels._dot import Linear, NormalizedPolynomial, Polynomial, Tanimoto
from spkm.kernels._forms import DotForm, ProductForm

KERNELS = Registry("kernel", Kernel)
KERNELS.update(
    rbf=RBF,
    matern=Matern,
    rational_quadratic=RationalQuadratic,
    laplacian=Laplacian,
    linear=Linear,
    polynomial=Polynomial,
    normalized_polynomial=NormalizedPolynomial,
    tanimoto=Tanimoto,
)

__all__ = [
    "KERNELS",
    "RBF",
    "Affine",
    "DistanceKernel",
    "DotForm",
    "DotKernel",
    "InvariantKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "NormalizedPolynomial",
    "Polynomial",
    "Product",
    "ProductForm",
    "Pullback",
    "RationalQuadratic",
    "Rescaled",
    "Sum",
    "Tanimoto",
    "gathered",
    "squared",
    "squared_norms",
]

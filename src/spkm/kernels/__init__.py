"""Kernels and their names. A new one is a class with two formulas: see ``docs/extend.md``."""

from spkm._parts import Registry
from spkm.kernels._base import InvariantKernel, Kernel, Pullback, gathered
from spkm.kernels._combine import Affine, Product, Rescaled, Sum
from spkm.kernels._distance import RBF, DistanceKernel, Laplacian, Matern, RationalQuadratic
from spkm.kernels._dot import DotKernel, Linear, NormalizedPolynomial, Polynomial, Tanimoto
from spkm.kernels._forms import DotForm, ProductForm
from spkm.kernels._products import squared, squared_norms

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

"""Penalties of fixed strength, one descent, and nothing before or after it."""

from __future__ import annotations

from spkm.fitting.recipe import Recipe


class Fixed(Recipe):
    """The fit that the parameters describe.

    For views, dot-product kernels, losses and solvers that the other recipes do not serve, and wherever a penalty on
    the weights is given; experiments of the paper use nothing else.

    **Defaults.** One learned bandwidth for a stationary kernel, starting at the mean distance of samples (at half of it
    for more than two classes). No linear part. The RKHS norm with the strength of the loss, over the number of samples.
    Vectors of stationary kernels inside the range of the data, unless ``basis_bounds`` is None.
    """

    name = "fixed"

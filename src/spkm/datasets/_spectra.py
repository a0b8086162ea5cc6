"""Spectra that are made up, with the faults of real ones: scatter, baselines, stray light, replicates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spkm._arrays import RandomState
from spkm._checks import check_integer, check_real, generator

#: Centre and width in nanometres of the bands of each substance, and the height of each band.
BANDS = {
    "analyte": ((1205.0, 22.0, 1.0), (1395.0, 26.0, 0.6)),
    "water": ((1190.0, 45.0, 0.5), (1440.0, 50.0, 1.6)),
    "matrix": ((980.0, 60.0, 0.4), (1170.0, 70.0, 0.7), (1530.0, 90.0, 0.9)),
}


class Spectra(NamedTuple):
    """Spectra with their reference values. Made by :func:`make_spectra`.

    Attributes
    ----------
    X : ndarray of shape (n_specimens * n_replicates, n_wavelengths)
        Absorbances.
    y : ndarray of shape (n_specimens * n_replicates,)
        Share of the analyte in per cent, by the reference method.
    specimen : ndarray of int of shape (n_specimens * n_replicates,)
        Specimen that was measured: replicates of one specimen have the same.
    wavelengths : ndarray of shape (n_wavelengths,)
        Wavelengths in nanometres.
    """

    X: np.ndarray
    y: np.ndarray
    specimen: np.ndarray
    wavelengths: np.ndarray


def make_spectra(
    n_specimens: int = 100,
    n_replicates: int = 3,
    n_wavelengths: int = 100,
    *,
    stray_light: float = 0.05,
    noise: float = 0.0005,
    random_state: RandomState = None,
) -> Spectra:
    """Make near-infrared spectra of powders with a varying share of an analyte.

    A specimen absorbs A = a g(analyte) + w g(water) + m g(matrix), sums of Gaussian bands of overlapping substances.
    The detector measures -log10((10^-A + s) / (1 + s)) with stray light s, which bends the response to high shares.
    Every replicate is packed anew: the spectrum is multiplied by a factor (scatter), and a constant, a slope and a
    curve are added (baseline), with noise at the end. The reference value has an error of 0.2 percentage points.

    Parameters
    ----------
    n_specimens : int, default=100
        Number of specimens.
    n_replicates : int, default=3
        Number of spectra of each specimen.
    n_wavelengths : int, default=100
        Number of wavelengths, evenly spaced from 900 to 1700 nanometres.
    stray_light : float, default=0.05
        Stray light as a share of the light of the lamp; 0 makes the response linear.
    noise : float, default=0.0005
        Deviation of the normal noise, in units of absorbance.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    spectra : Spectra
        Fields X, y, specimen and wavelengths.

    Examples
    --------
    >>> from spkm.datasets import make_spectra
    >>> X, y, specimen, wavelengths = make_spectra(20, random_state=0)
    >>> X.shape, len(set(specimen)), wavelengths[:2].round(1).tolist()
    ((60, 100), 20, [900.0, 908.1])
    """
    n_specimens, n_replicates = (
        check_integer("n_specimens", n_specimens, 1),
        check_integer("n_replicates", n_replicates, 1),
    )
    n_wavelengths = check_integer("n_wavelengths", n_wavelengths, 2)
    stray_light, noise = check_real("stray_light", stray_light), check_real("noise", noise)
    rng = generator(random_state)
    wavelengths = np.linspace(900.0, 1700.0, n_wavelengths)
    pure = {
        name: sum(height * np.exp(-(((wavelengths - centre) / width) ** 2)) for centre, width, height in bands)
        for name, bands in BANDS.items()
    }
    share = rng.uniform(0.0, 40.0, n_specimens)
    amounts = {
        "analyte": share / 40,
        "water": rng.uniform(0.2, 0.8, n_specimens),
        "matrix": 1 - share / 100 + 0.05 * rng.standard_normal(n_specimens),
    }
    absorbed = sum(amounts[name][:, None] * pure[name] for name in BANDS)
    seen = -np.log10((10.0**-absorbed + stray_light) / (1 + stray_light))
    specimen = np.repeat(np.arange(n_specimens), n_replicates)
    n, t = len(specimen), (wavelengths - 1300.0) / 400.0
    scatter = np.exp(0.15 * rng.standard_normal((n, 1)))
    baseline = rng.standard_normal((n, 3)) @ np.stack([0.10 * np.ones_like(t), 0.06 * t, 0.04 * t**2])
    X = scatter * seen[specimen] + baseline + noise * rng.standard_normal((n, n_wavelengths))
    reference = share + 0.2 * rng.standard_normal(n_specimens)
    return Spectra(X, reference[specimen], specimen, wavelengths)

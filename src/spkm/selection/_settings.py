"""The numbers of a search, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchSettings:
    """Numbers of a search for features.

    Numbers of a path come from ``python -m benchmarks path_settings``; "compared" means the share of
    relevant features at its end, with half and twice the number, say. "Compared on half A" means ``python -m benchmarks
    search_settings``: the score of whole searches on half A of the made-up families, one draw of each.

    Parameters
    ----------
    n_screened : int
        Feature groups that kernels which are not linear get to see. Compared on half A: 50 lose a relation of many
        features (-1.0 ± 1.0 points), 200 gain nothing.
    work : float
        Multiplications that the screen of products may take, over all outputs: half a second. It uses fewer features
        instead.
    chance : float
        Chance that a feature of noise is named by the screen: the usual 5 %.
    empty_chance : float
        Level, over the number of kernels, of the test that held-out samples prefer a model to a constant. At 5 % they
        did so in 6 to 10 % of fits to noise, as the number of features was chosen by the same samples (50 draws).
    path_share : float
        Strength of the penalty at the end of a linear path, over the universal threshold sqrt(2 log(d) / n) (Donoho
        and Johnstone 1994), above which noise alone stays out of a linear model; 0.7 lost weak effects (two draws).
        Other paths end at the threshold itself.
    path_iterations, path_tolerance : int, float
        Number of proximal steps at one strength, and the fall of the objective over ten of them, as a share, where they
        end: that of L-BFGS. Compared: 40 and 80 iterations find no more, and neither do tolerances of 3e-4 and 1e-4.
    path_steps, path_ratio : int, float
        Strengths of a path that is not convex, and the ratio of neighbouring ones of any path. Compared: one strength
        and two lose many features, four find no more; ratios of 1.5 and 3 are no better.
    first_size : float
        Length of a random basis vector. Compared: 0.1 and 1 are no better.
    n_starts : int
        Random starts of a path that is not convex. Compared: one and two lose features, eight take twice the time.
    vectors_per_output : int
        Vectors of a non-linear dot-product kernel while features are sought. Compared: 2 lose features, 6 find no
        more; more come at the end where they are clearly better.
    one_by_one : int
        Groups from which on they leave singly; above it a fifth of them leaves at a time. 10 lost 1.2 ± 0.6 points on
        half A. A kernel without a path begins with all groups if they are no more.
    first_iterations, refit_iterations : int
        Iterations of a first fit, and of one that lost features; the solver's tolerance may end both. With 50 in
        place of 100 Friedman's relation above its median lost 3 to 4 points (two draws of the panel's half A).
    share : float
        Share of the best held-out loss that a simpler model (fewer features, a simpler kernel, another strength, fewer
        vectors) may be worse by within its standard error: where samples are few a standard error alone would let
        anything go. Compared on half A: 0.05 -0.13 ± 0.12 points.
    clearly : float
        Standard errors of the held-out difference to another kernel at which one is given up, after some of the folds
        or before strengths are tried: the usual three. Compared on half A: 2 and 5 make no difference.
    strengths : tuple of float
        Strengths of the penalty over that of the elimination, by powers of ten. Without the weak ones a linear relation
        without noise is left to a polynomial; compared on half A, whose families have noise, -0.03 ± 0.08 points.
    alike : float
        |Correlation| from which on two features are called interchangeable: the usual cut for collinear features, the
        default of caret's ``findCorrelation`` (Kuhn 2008).
    n_halves, halves_most : int, float
        Random halves of the samples on which features are chosen again, and the most numbers of a table for which
        that is done: six halves take 0.2 to 0.8 times as long as the search (80 x 5, 500 x 100, 72 x 7000,
        5000 x 100), so at most some seconds.
    """

    n_screened: int = 100
    work: float = 5e8
    chance: float = 0.05
    empty_chance: float = 0.01
    path_share: float = 0.4
    path_iterations: int = 20
    path_tolerance: float = 1e-3
    path_steps: int = 3
    path_ratio: float = 2.0
    first_size: float = 0.3
    n_starts: int = 4
    vectors_per_output: int = 4
    one_by_one: int = 20
    first_iterations: int = 100
    refit_iterations: int = 10
    share: float = 0.02
    clearly: float = 3.0
    strengths: tuple[float, ...] = (100.0, 10.0, 0.1, 0.01)
    alike: float = 0.9
    n_halves: int = 6
    halves_most: float = 1e6


DEFAULTS = SearchSettings()

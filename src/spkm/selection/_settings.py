"""The numbers of a search, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchSettings:
    """Numbers of a search for features. "Tried" is on two draws of up to 17 simulated relations.

    Parameters
    ----------
    n_screened : int
        Feature groups that kernels which are not linear get to see; not compared with other numbers.
    work : float
        Multiplications that the screen of products may take; it looks at fewer features rather than taking longer.
    chance : float
        Chance that a feature of noise is named by the screen: the usual 5 %.
    empty_chance : float
        Level, over the number of kernels, of the test that held-out samples prefer a model to a constant. At 5 % they
        did so in 6 to 10 % of fits to noise, as the number of features was chosen by the same samples (50 draws).
    path_share : float
        Strength of the penalty at the end of a linear path, over the universal threshold sqrt(2 log(d) / n) (Donoho
        and Johnstone 1994), above which noise alone stays out of a linear model. Tried: 0.7 loses weak effects. Other
        paths end at the threshold itself: at 0.4 of it degrees 2 and 5 were 1.6 ± 1.7 points less accurate (12 draws).
    path_iterations, path_tolerance : int, float
        Of the proximal steps at one strength; not compared with other numbers.
    vectors_per_output : int
        Of a dot-product kernel that is not linear, while features are sought.
    most_groups : int
        Groups that an elimination begins with at most, or one for ten samples if these are more.
    one_by_one : int
        Groups from which on they leave singly; above it a fifth leaves at a time (Guyon et al. 2002 halve).
    first_iterations, next_iterations, single_iterations : int
        Of a first fit, of one that lost many features, and of one that lost a single group.
    tolerance : float
        Of these fits: the relative change of the objective over ten iterations at which they stop.
    feature_share, other_share : float
        Share of the best held-out loss that a model of fewer features, or one simpler otherwise, may be worse by
        within its standard error: where samples are few a standard error alone would let anything go.
    steps_beyond : int
        Powers of ten that strengths may go beyond their grid while its end is best.
    alike : float
        |Correlation| from which on two features are called interchangeable.
    """

    n_screened: int = 100
    work: float = 1e9
    chance: float = 0.05
    empty_chance: float = 0.01
    path_share: float = 0.4
    path_iterations: int = 60
    path_tolerance: float = 3e-4
    vectors_per_output: int = 4
    most_groups: int = 50
    one_by_one: int = 20
    first_iterations: int = 100
    next_iterations: int = 30
    single_iterations: int = 10
    tolerance: float = 1e-4
    feature_share: float = 0.05
    other_share: float = 0.02
    steps_beyond: int = 2
    alike: float = 0.9


DEFAULTS = SearchSettings()

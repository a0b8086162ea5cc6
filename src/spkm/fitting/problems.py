"""From parameters and samples to a problem: numbers for all that depends on data.

Kernels take their bandwidths from a sample, views learn a metric or not, a linear part joins them or not, and penalties
get their strengths. The defaults are those of a recipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from spkm.core.model import LINEAR_PART, Term, View
from spkm.core.problem import Problem
from spkm.fitting.spec import Spec
from spkm.kernels import Kernel, Linear
from spkm.penalties import Evidence, Penalty, RKHSNorm, SquaredL2
from spkm.sources import Source

# Over the total weight: a weak pull of log bandwidths to their start; flat from 1 to 10, measured.
BANDWIDTH_PRIOR = 3.0
SHARPER_FOR_CLASSES = 4.0  # times the gamma of the mean distance, for more than two classes; measured
# Chosen on one half of a panel of data sets and confirmed on the other, see docs/numbers/constants.md.
RELEVANCE_PRIOR = 10.0  # over the total weight, on relevances above their start: 3 and 10 gain, 30 loses
# Times features over the total weight: a normal prior of variance 1 / (0.25 d) for each coefficient, so that the linear
# score of standardised features has a variance of 4 a priori.
LINEAR_STRENGTH = 0.25
KERNEL_SAMPLE = 1000  # samples whose distances set a bandwidth: half a million pairs
LINEAR_KERNEL = Linear(gamma=1.0)


@dataclass(frozen=True)
class Defaults:
    """The part of a recipe that shapes the problem: the meaning of "auto".

    Parameters
    ----------
    metric : {"scale", "relevances"}, default="scale"
        Learned metric of a stationary kernel with ``learn_bandwidth="auto"``: one bandwidth, or one for each feature.
    linear_part : bool, default=False
        Whether a linear part is added with ``linear_part="auto"``.
    sharper : bool, default=False
        Whether bandwidths of two classes, too, start at half of the mean distance; those of more classes always do.
    bounds_counts : bool, default=False
        Whether vectors of kernels of counts stay inside the range of the data even if others are free.
    evidence : Evidence, default=None
        The marginal likelihood as the objective, in place of penalties on the weights.
    """

    metric: str = "scale"
    linear_part: bool = False
    sharper: bool = False
    bounds_counts: bool = False
    evidence: Evidence | None = None

    def joins_linear_part(self, spec: Spec) -> bool:
        """Whether a linear part is added."""
        return bool(self.linear_part if spec.linear_part == "auto" else spec.linear_part)


def problem_of(
    spec: Spec,
    source: Source,
    defaults: Defaults,
    columns: np.ndarray | None = None,
    kernels: list[Kernel] | None = None,
) -> Problem:
    """Return the problem on the samples of ``source``.

    Parameters
    ----------
    spec : Spec
        The parameters.
    source : Source
        The samples.
    defaults : Defaults
        The meaning of "auto".
    columns : ndarray of int, default=None
        The features of the table that the source holds; None means all of them.
    kernels : list of Kernel, default=None
        Kernels with numbers for all parameters, one for each view; None takes bandwidths from a sample.
    """
    n, m = source.total_weight, source.n_outputs
    joins_linear_part = defaults.joins_linear_part(spec)
    bounded, strength = spec.basis_bounds == "data", usual_strength(spec, m) / n
    metrics = [metric_of(spec, view, defaults.metric) for view in spec.views]
    if kernels is None:
        here = spec.terms if columns is None else [term.on(columns) for term in spec.terms]
        kernels = _resolved_kernels(spec, [view for term in here for view in term.views], source, defaults.sharper)
    directions = tuple((column, direction) for _, column, direction in spec.monotone)
    ready = iter(
        [
            replace(
                view,
                kernel=kernel,
                metric=metric,
                # Vectors with a place among the data stay there; those of dot products are directions.
                bounded=(bounded and kernel.stationary) or ((bounded or defaults.bounds_counts) and kernel.nonnegative),
                monotone=directions,
            )
            for view, kernel, metric in zip(spec.views, kernels, metrics, strict=True)
        ]
    )
    terms = tuple(replace(term, views=tuple(next(ready) for _ in term.views)) for term in spec.terms)
    if joins_linear_part:
        # The evidence learns the strength of a linear part.
        penalties = [] if defaults.evidence else [SquaredL2(LINEAR_STRENGTH * source.n_features / n)]
        linear = View(LINEAR_KERNEL, None, "fixed", penalties, LINEAR_PART, monotone=directions)
        terms = (*terms, Term(m, (linear,), is_linear_part=True))
    priors, on_weights = (0.0, 0.0), list[Penalty]()
    if defaults.evidence is None:
        given = [RKHSNorm()] if spec.weight_penalties is None else spec.weight_penalties
        priors, on_weights = (BANDWIDTH_PRIOR / n, RELEVANCE_PRIOR / n), [p.with_default(strength) for p in given]
    intercept = bool(spec.fit_intercept)
    return Problem(terms, spec.loss, spec.basis_penalties, on_weights, defaults.evidence, *priors, intercept)


def usual_strength(spec: Spec, n_outputs: int) -> float:
    """Return the strength of the penalty on the weights, times the total weight, where nothing else is given."""
    return float(spec.loss.rkhs_strength[n_outputs > 1])


def metric_of(spec: Spec, view: View, automatic: str) -> str:
    """Return what is learned of a view's metric: its own, or that of ``learn_bandwidth``, or ``automatic``."""
    if view.metric is not None:
        return view.metric
    # In a dict by view only the entry "auto" leaves the view without a metric.
    learn = "auto" if isinstance(spec.learn_bandwidth, Mapping) else spec.learn_bandwidth
    if isinstance(learn, str) and learn == "auto":
        return automatic if view.kernel.stationary else "fixed"
    return "relevances" if learn == "columns" else "scale" if learn else "fixed"


def _resolved_kernels(spec: Spec, views: list[View], source: Source, sharper: bool) -> list[Kernel]:
    """Return the kernels of views of the source's features, with bandwidths from a sample."""
    some = source.sample(KERNEL_SAMPLE, np.random.default_rng(spec.seed))
    X, weight = some.dense().astype(np.float64), some.w[:, 0].astype(np.float64)
    weight = weight / weight.sum()
    of_signs = spec.loss.target == "signs" and (source.n_outputs > 1 or sharper)
    factor = SHARPER_FOR_CLASSES if of_signs else 1.0
    kernels = []
    for view in views:
        kernel = view.kernel.resolved(X if view.columns is None else X[:, view.columns], weight)
        by_us = kernel is not view.kernel and kernel.stationary  # numbers that the user gives stay as they are
        kernels.append(kernel.with_bandwidth(factor) if by_us and factor != 1.0 else kernel)
    return kernels

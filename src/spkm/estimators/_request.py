"""What the parameters of an estimator ask for: names and "auto" become objects here, and only here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from spkm._checks import n_threads
from spkm.estimators._domains import generator, scaling_for
from spkm.estimators._settings import check_selection, check_settings, check_task
from spkm.estimators._views import asked_terms, basis_penalties
from spkm.estimators._warm_start import same_settings, same_views
from spkm.fitted import FittedModel
from spkm.kernels import Kernel, Linear
from spkm.losses import LOSSES, Loss
from spkm.model import LINEAR_PART, Term, View
from spkm.objective import as_list
from spkm.penalties import ORDINARY_NOISE, WEIGHT_PENALTIES, Evidence, Penalty, RKHSNorm, SquaredL2
from spkm.problem import Problem
from spkm.solvers import SOLVERS
from spkm.sources import Scaling, Source
from spkm.starts import Sample, draw_sample

BANDWIDTH_PRIOR = (
    3.0  # over the total weight: a weak pull of log bandwidths to their start; flat from 1 to 10, measured
)
SHARPER_FOR_CLASSES = 4.0  # times the gamma of the mean distance, for more than two classes; measured
# Chosen on one half of a panel of data sets and confirmed on the other, see docs/numbers.md.
RELEVANCE_PRIOR = 10.0  # over the total weight, on relevances above their start: 3 and 10 gain, 30 loses
LINEAR_STRENGTH = 0.25  # times features over the total weight: a linear score of about unit variance a priori
MOST_BESIDE_EVIDENCE = 500  # features: an iteration solves for n_basis + n_features coefficients
KERNEL_SAMPLE = 1000  # samples whose distances set a bandwidth: half a million pairs
LEAST_VECTORS, VECTORS_PER_CLASS = (
    10,
    4,
)  # of a classifier where n_basis is not given; panel: 10 lose 12 points on 11 classes


def default_vectors(n_classes: int) -> int:
    """Return the number of basis vectors of a classifier where none is given."""
    return max(LEAST_VECTORS, VECTORS_PER_CLASS * n_classes)


FIRST_STRENGTH = 0.3  # of the ridge on the weights, over the total weight: the middle of the strengths that are tried

#: Parameters that not all estimators have.
ABSENT: dict[str, Any] = {
    "kernel": "rbf",
    "views": None,
    "terms": None,
    "multi_class": "joint",
    "basis_penalty": None,
    "selection": None,
    "max_features": None,
    "feature_groups": None,
    "max_basis": None,
    "start": "auto",
    "n_restarts": 1,
    "warm_start": False,
    "class_weight": None,
    "linear_part": False,
    "basis_bounds": "data",
    "basis": "free",
}


@dataclass(frozen=True)
class Request:
    """What is asked for; only numbers that depend on data are missing.

    Parameters
    ----------
    params : Mapping
        The parameters of the estimator, and :data:`ABSENT` for those it does not have; they are attributes, too.
    task : {"classification", "regression"}
        Whether targets are classes or labels, or real numbers.
    terms : tuple of Term
        Kernels and features; kernels may still wait for data.
    loss : Loss
        A copy: what the user does to the loss after the fit must not change predictions.
    basis_penalties : list of Penalty
        Those of views that have none of their own.
    of_pairs : bool
        Whether samples are pairs of entities.
    """

    params: Mapping[str, Any]
    task: str
    terms: tuple[Term, ...]
    loss: Loss
    basis_penalties: list[Penalty]
    of_pairs: bool = False

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __post_init__(self) -> None:
        own = {"terms", "loss"}
        self.__dict__.update({name: value for name, value in self.params.items() if name not in own})
        self.__dict__.update(
            #: Whether features are selected.
            selects=self.params["selection"] is not None,
            #: Whether numbers of basis vectors are to be found.
            is_automatic=any(isinstance(term.n_basis, str) for term in self.terms),
            #: Whether a kernel looks at counts, which are never negative.
            of_counts=any(view.kernel.nonnegative for term in self.terms for view in term.views),
        )
        self.__dict__.update(
            #: Whether features or numbers of vectors are sought among many models.
            is_searched=self.selects or self.is_automatic,
        )
        self.__dict__.update(
            #: Whether it is a single stationary kernel on one table, without a search.
            is_plain=self._is_plain(),
        )
        self.__dict__.update(
            #: Whether the strength of the penalty is chosen by held-out samples.
            is_adaptive=self._is_adaptive(),
        )

    @staticmethod
    def of(
        params: Mapping[str, Any],
        X: Any,
        task: str,
        *,
        several_labels: bool = False,
        n_classes: int = 2,
        tables: Mapping[str, Any] | None = None,
        terms: tuple[Term, ...] | None = None,
    ) -> Request:
        """Return the request of an estimator's parameters, checked.

        Parameters
        ----------
        params : Mapping
            The parameters of the estimator.
        X : object
            What the user gave, which tells where columns go by name.
        task : {"classification", "regression"}
            As in :class:`Request`.
        several_labels : bool, default=False
            Whether a sample may have any number of labels.
        n_classes : int, default=2
            Number of classes or labels, which a number of vectors that is not given grows with.
        tables : Mapping, default=None
            Names and layouts of the tables, where X is a dict of them.
        terms : tuple of Term, default=None
            Those of pairs, which have parameters of their own.
        """
        params = {**ABSENT, **params}
        if params["n_basis"] is None and task == "classification":
            params["n_basis"] = LEAST_VECTORS if params["multi_class"] != "joint" else default_vectors(n_classes)
        check_settings(params)
        params["threads"] = n_threads(params["n_jobs"])
        of_pairs = terms is not None
        if terms is None:
            terms = asked_terms(params, X, tables)
        asked = params["loss"]
        if isinstance(asked, str) and asked == "auto":
            asked = "log" if task == "classification" else "squared"
        loss = LOSSES.part(asked, "loss").for_labels(several_labels)
        check_task(loss, asked, task)
        check_selection(params, terms)
        common = None if isinstance(params["basis_penalty"], Mapping) else params["basis_penalty"]
        return Request(params, task, terms, loss, [] if common is None else basis_penalties(common), of_pairs)

    def _is_plain(self) -> bool:
        views = [view for term in self.terms for view in term.views]
        only = len(views) == 1 and views[0].columns is None and not views[0].name
        return only and views[0].kernel.stationary and not self.of_pairs and not self.is_searched

    def _is_adaptive(self) -> bool:
        by_us = self.params["weight_penalty"] == "auto" and self.params["solver"] in ("auto", "lbfgs", "adam")
        suits = self.task == "classification" and not self.loss.coupled and not self.loss.is_quadratic
        return bool(
            by_us and self.is_plain and suits and not self.basis_penalties and self.params.get("adaptive", True)
        )

    def with_params(self, **params: Any) -> Request:
        """Return the same request with other values of simple parameters."""
        return replace(self, params={**self.params, **params})

    def with_loss(self, loss: Loss) -> Request:
        """Return the same request with another loss."""
        return replace(self, loss=loss)

    @property
    def has_free_strength(self) -> bool:
        """Whether the penalty on the weights is left to us."""
        return isinstance(self.weight_penalty, str) and self.weight_penalty == "auto"

    def rng(self) -> np.random.Generator:
        """Return the generator of all randomness."""
        return generator(self.random_state)

    def problem(
        self,
        source: Source,
        columns: np.ndarray | None = None,
        previous: FittedModel | None = None,
        terms: tuple[Term, ...] | None = None,
    ) -> Problem:
        """Return the problem on the features of ``source``, with numbers for all that depends on data.

        ``columns`` are those of the whole table, which ``terms`` are about, that the source holds; None is all of them.
        """
        terms = self.terms if terms is None else terms
        m = source.n_outputs
        here = terms if columns is None else [term.on(columns) for term in terms]
        asked = [view for term in terms for view in term.views]
        evidence, on_weights = self._weight_penalties(asked, source.total_weight, m)
        metrics = [self._metric(view, evidence is not None) for view in asked]
        if previous is not None and same_views(previous.asked, terms):
            # Bandwidths as they were before any of them was learned.
            kernels = [view.kernel for _, view in previous.model.views]
        else:
            some = draw_sample(source, KERNEL_SAMPLE, self.rng())
            sharper = SHARPER_FOR_CLASSES if self.loss.target == "signs" and (m > 1 or self.is_adaptive) else 1.0
            kernels = [_resolved_kernel(view, some, sharper) for term in here for view in term.views]
        ready = (
            replace(view, kernel=kernel, metric=metric, bounded=self._is_bounded(kernel))
            for view, kernel, metric in zip(asked, kernels, metrics, strict=True)
        )
        resolved = tuple(replace(term, views=tuple(next(ready) for _ in term.views)) for term in terms)
        n = source.total_weight
        if evidence is not None and self.is_searched:
            # Of many models, whose weights nobody looks at, from starts of their own.
            known = {} if evidence.noise != "auto" else {"noise": ORDINARY_NOISE}
            evidence = clone(evidence).set_params(ridge=0.0, **known)
        if self._has_linear_part(evidence is not None, source.n_features):
            # The evidence learns the strength of a linear part.
            penalties = [] if evidence is not None else [SquaredL2(LINEAR_STRENGTH * source.n_features / n)]
            linear = View(Linear(gamma=1.0), None, "fixed", penalties, LINEAR_PART)
            resolved = (*resolved, Term(m, (linear,), is_linear_part=True))
        priors = (0.0, 0.0) if evidence is not None else (BANDWIDTH_PRIOR / n, RELEVANCE_PRIOR / n)
        fit_intercept = bool(self.fit_intercept)
        problem = Problem(resolved, self.loss, self.basis_penalties, on_weights, evidence, *priors, fit_intercept)
        if previous is None:
            return problem
        return problem.continued(previous.noise, previous.ridge, previous.linear_variance)

    def _is_bounded(self, kernel: Kernel) -> bool:
        """Whether basis vectors have a place among the data, and stay there; those of dot products are directions."""
        return self.basis_bounds == "data" and (kernel.stationary or kernel.nonnegative)

    def _has_linear_part(self, evidence: bool, n_features: int) -> bool:
        if self.linear_part != "auto":
            if self.linear_part and (self.of_pairs or self.is_searched):
                raise ValueError(
                    f"linear_part={self.linear_part!r} goes neither with pairs nor with a selection or a search for "
                    "the number of vectors. Set linear_part=False."
                )
            return bool(self.linear_part)
        of_evidence = evidence and self.is_plain and n_features <= MOST_BESIDE_EVIDENCE
        return self.is_adaptive or of_evidence

    def _metric(self, view: View, evidence: bool) -> str:
        """Return what is learned of a view's metric: what the view says, or else the estimator."""
        if view.metric is not None:
            return view.metric
        evidence = evidence or self.is_adaptive
        # With a dict, the entry of this view says "auto", or else it would have a metric.
        asked = "auto" if isinstance(self.learn_bandwidth, Mapping) else self.learn_bandwidth
        learn = asked if isinstance(asked, str) else bool(asked)
        if learn == "columns" or (evidence and learn == "auto" and view.kernel.stationary):
            return "relevances"
        return "scale" if learn is True or (learn == "auto" and view.kernel.stationary) else "fixed"

    def _weight_penalties(self, views: list[View], n: float, n_outputs: int) -> tuple[Evidence | None, list[Penalty]]:
        """Return the evidence, if that is asked for, and penalties with numbers for their strengths."""
        on_views = [p for v in views for p in (self.basis_penalties if v.basis_penalty is None else v.basis_penalty)]
        if not self.has_free_strength:
            penalties = [_weight_penalty(penalty) for penalty in as_list(self.weight_penalty)]
        elif self.loss.scale_free:
            penalties = []
        else:
            penalties = [Evidence() if self._evidence_fits(views, on_views) else RKHSNorm()]
            if self.is_adaptive:
                penalties = [SquaredL2(FIRST_STRENGTH / n)]
        if self.loss.scale_free and penalties:
            raise ValueError(
                f"loss={self.params['loss']!r} ignores the length of the weights, so a penalty would only shrink them "
                "to nothing. Use weight_penalty=None (or 'auto'), or another loss."
            )
        evidence = next((penalty for penalty in penalties if penalty.is_evidence), None)
        if evidence is not None:
            self._check_evidence(views, on_views, len(penalties))
            return evidence, []
        strength = self.loss.rkhs_strength[n_outputs > 1] / n
        return None, [penalty.with_default(strength) for penalty in penalties]

    def _evidence_fits(self, views: list[View], penalties: list[Penalty]) -> bool:
        solver = self.solver
        # Of a name and of an object alike: the evidence is for solvers that eliminate the weights.
        needs = (
            SOLVERS[solver]().needs if isinstance(solver, str) and solver in SOLVERS else getattr(solver, "needs", ())
        )
        solver_fits = (isinstance(solver, str) and solver == "auto") or needs == ("elimination",)
        # The evidence needs k(x, x), which a metric that is learned would change unless the kernel is stationary.
        kernels_fit = all(
            not view.kernel.shifted and (view.kernel.stationary or self._metric(view, True) == "fixed")
            for view in views
        )
        # Pairs that share entities are no independent samples: the evidence takes too much of them for noise, measured.
        of_rows = self.task == "regression" and not self.of_pairs and self.loss.is_quadratic
        return of_rows and solver_fits and kernels_fit and all(penalty.is_smooth for penalty in penalties)

    def _check_evidence(self, views: list[View], penalties: list[Penalty], count: int) -> None:
        if not self.loss.is_quadratic:
            raise ValueError(
                f"weight_penalty='evidence' needs loss='squared'; got loss={self.params['loss']!r}. "
                "Use weight_penalty='rkhs'."
            )
        if count > 1:
            raise ValueError(
                f"weight_penalty='evidence' goes with no other penalty on the weights; got {self.weight_penalty!r}."
            )
        if any(view.kernel.shifted for view in views):
            raise ValueError(
                "weight_penalty='evidence' needs a kernel without a shift (2k-1). Use weight_penalty='rkhs'."
            )
        if not all(penalty.is_smooth for penalty in penalties):
            raise ValueError(
                "weight_penalty='evidence' needs a basis_penalty with a gradient, 'l2' or None; "
                f"got {self.basis_penalty!r}. Use weight_penalty='rkhs'."
            )

    def scaling_of(self, X: Any, weight: np.ndarray) -> Scaling | None:
        """Return the scaling that ``scale`` asks for; None if features stay as they are, as those of counts do."""
        return scaling_for(self.terms, self.scale, X, weight)


def _resolved_kernel(view: View, some: Sample, sharper: float) -> Kernel:
    kernel = view.kernel
    resolved = kernel.resolved(some.X if view.columns is None else some.X[:, view.columns], some.weight)
    if sharper != 1.0 and kernel.stationary and not same_settings(resolved, kernel):
        return resolved.with_bandwidth(sharper)
    return resolved


def _weight_penalty(value: Any) -> Any:
    penalty = WEIGHT_PENALTIES.part(value, "weight_penalty")
    if "weights" not in penalty.on:
        raise ValueError(
            f"weight_penalty cannot be {penalty!r}: it acts on the {penalty.on[0]}. "
            f"Known names: {', '.join(sorted(WEIGHT_PENALTIES))}."
        )
    return penalty

"""Ways of fitting, one a file, and the only place that decides between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spkm.core.fitted import FittedModel
from spkm.core.model import Term, View
from spkm.core.targets import Target
from spkm.fitting.data import Data
from spkm.fitting.problems import metric_of
from spkm.fitting.recipe import Fit, Recipe, Start
from spkm.fitting.recipes.continued import Continued
from spkm.fitting.recipes.evidence import ByEvidence
from spkm.fitting.recipes.fixed import Fixed
from spkm.fitting.recipes.folds import CENSORED, FOLD_ROWS, FOLDS, USUAL, Folds
from spkm.fitting.recipes.monotone import Monotone
from spkm.fitting.recipes.new_entities import NewEntities
from spkm.fitting.recipes.on_samples import OnSamples
from spkm.fitting.recipes.pairs import Pairs
from spkm.fitting.recipes.search import Search, candidate_of
from spkm.fitting.recipes.span import InSpan
from spkm.fitting.recipes.squared_warmup import SquaredWarmUp
from spkm.fitting.recipes.steps import Steps
from spkm.fitting.spec import Spec
from spkm.kernels import Kernel, Linear, Polynomial
from spkm.penalties import Evidence
from spkm.selection import Candidate, has_path
from spkm.solvers import SOLVERS

__all__ = ["Fit", "Recipe", "Start", "candidate_for", "guides_of", "recipe_again", "recipe_for", "recipe_for_batches"]

# Features over samples from which classes are fitted in the span of the samples. From 1 to 4, a bandwidth for each
# feature is worth its time: log loss 3 to 24 % lower in seven of eight samples of digits of 216 to 256 features.
TIMES_FOR_CLASSES = 4
MOST_WORK = 1e8  # multiplications of a pass over the samples of folds up to which these are worth their time
#: Kernels that find features for one without a sparse path: those beside it in the race of SPKMClassifierCV.
GUIDES: tuple[Kernel, ...] = (Linear(), Polynomial(degree=3))
USUAL_EVIDENCE = Evidence()
MOST_DENSE = 2**25  # entries of samples that become dense coordinates of their span: 256 MB


def recipe_for(spec: Spec, data: Data, previous: FittedModel | None = None) -> Recipe:
    """Return the recipe of a fit.

    Parameters
    ----------
    spec : Spec
        The parameters.
    data : Data
        The samples; only their kind, their numbers and the kind of targets count.
    previous : FittedModel, default=None
        The model of an earlier fit to go on from.
    """
    single = _has_single_kernel(spec, data)
    in_span = single and _wants_span(spec, data, previous)
    evidence = _evidence(spec, data)
    if spec.is_searched:
        recipe: Recipe = Search(evidence)
        return OnSamples(recipe) if spec.basis == "samples" else recipe
    width = data.n_rows if in_span else data.n_features
    if spec.monotone:
        recipe = Monotone(spec.views[0].kernel.stationary)
    elif evidence is not None:
        recipe = InSpan(ByEvidence(evidence, single)) if in_span else ByEvidence(evidence, single)
    elif not data.independent:
        recipe = Pairs() if spec.new == "pairs" else NewEntities(Pairs())
    elif single and _wants_folds(spec, data.target) and _affords_folds(spec, data.n_rows, width):
        folds = Folds(CENSORED if spec.loss.censored else USUAL, not in_span and spec.learn_bandwidth == "auto")
        recipe = InSpan(folds) if in_span else folds
    elif single and _wants_warm_up(spec, data.target):
        recipe = SquaredWarmUp(ByEvidence(USUAL_EVIDENCE, single=True))
    else:
        recipe = Fixed()
    if spec.basis == "samples":
        recipe = OnSamples(recipe)
    return recipe if previous is None else Continued(recipe, previous, comparable=evidence is None)


def recipe_again(spec: Spec, data: Data, model: FittedModel) -> Recipe:
    """Return the recipe that fits the samples of a model again, beginning with it; what a search chose stays."""
    if not model.recipe.startswith(Search.name):
        return recipe_for(spec, data, model)
    evidence = _evidence(spec, data)
    recipe: Recipe = Search(evidence)
    return Continued(OnSamples(recipe) if spec.basis == "samples" else recipe, model, comparable=evidence is None)


def candidate_for(spec: Spec, data: Data) -> Candidate:
    """Return a candidate of a search, with what is asked of strengths and numbers of vectors."""
    return candidate_of(spec, recipe_for(spec, data), data)


def guides_of(spec: Spec, data: Data) -> list[Spec]:
    """Return the parameters of simpler kernels that find features for a kernel without a sparse path.

    A few vectors of a distance are a poor model of many relations, and an elimination by a poor model keeps the wrong
    features. If the evidence ranks features (real targets), it needs no guide.
    """
    kernel = spec.kernel
    alone = kernel is None or has_path(kernel) or kernel.nonnegative or not data.target.of_classes
    if spec.selection is None or alone:
        return []
    return [replace(spec, terms=(Term("auto", (View(guide),)),)) for guide in GUIDES]


def recipe_for_batches(spec: Spec, target: Target) -> Steps:
    """Return the recipe of a fit that gets its samples in batches, one call at a time."""
    kernel = spec.kernel
    single = kernel is not None and kernel.stationary
    folds = single and _wants_folds(spec, target)
    return Steps(adaptive=folds, relevances=single and not target.of_classes)


def _has_single_kernel(spec: Spec, data: Data) -> bool:
    """Whether there is one stationary kernel, on all features of independent samples."""
    return data.independent and spec.kernel is not None and spec.kernel.stationary


def _wants_span(spec: Spec, data: Data, previous: FittedModel | None) -> bool:
    """Whether a fit is one in the span of the samples; a warm start keeps to what the last fit was."""
    learn = spec.learn_bandwidth
    one_bandwidth = not isinstance(learn, Mapping) and learn in ("auto", True) and spec.views[0].metric is None
    plain = isinstance(spec.start, str) and not spec.basis_penalties and spec.views[0].basis_penalty is None
    if not (one_bandwidth and plain and data.in_memory and spec.views[0].kernel.isotropic):
        return False
    if previous is not None:
        return previous.recipe.startswith(InSpan.name)
    times = TIMES_FOR_CLASSES if data.target.of_classes else 1
    return times * data.n_rows < data.n_features and data.n_rows * data.n_features <= MOST_DENSE


def _by_gradient(spec: Spec, *names: str) -> bool:
    return isinstance(spec.solver, str) and spec.solver in ("auto", "lbfgs", *names)


def _wants_folds(spec: Spec, target: Target) -> bool:
    """Whether folds may choose the strength: classes or a likelihood, a sum over samples, and nothing given."""
    likely = target.of_classes or spec.loss.is_likelihood
    suits = likely and not spec.loss.coupled and not spec.loss.is_quadratic
    return suits and spec.has_free_strength and _by_gradient(spec, "adam") and not spec.basis_penalties


def _affords_folds(spec: Spec, n_rows: int, n_features: int) -> bool:
    """Whether there are enough samples for folds, and folds are worth their time."""
    n_basis = sum(term.n_basis for term in spec.terms)
    return min(n_rows, FOLD_ROWS) * n_features * n_basis <= MOST_WORK and n_rows >= 2 * FOLDS


def _wants_warm_up(spec: Spec, target: Target) -> bool:
    """Whether a squared fit comes first: the loss is one of residuals, and nothing but it is given."""
    loss = spec.loss
    of_residuals = loss.target == "real" and loss.standardize_target and not loss.is_quadratic
    automatic = all(isinstance(asked, str) and asked == "auto" for asked in (spec.start, spec.learn_bandwidth))
    untouched = spec.has_free_strength and automatic and _by_gradient(spec) and not spec.basis_penalties
    return not target.of_classes and of_residuals and untouched and spec.linear_part in ("auto", False)


def _evidence(spec: Spec, data: Data) -> Evidence | None:
    """Return the evidence as the objective, if it is given, or if the penalty is free and everything suits it."""
    given = spec.weight_penalties
    penalties = [p for v in spec.views for p in (spec.basis_penalties if v.basis_penalty is None else v.basis_penalty)]
    smooth = all(penalty.is_smooth for penalty in penalties)
    if given is None:
        return USUAL_EVIDENCE if smooth and _suits_evidence(spec, data) else None
    found = [penalty for penalty in given if penalty.is_evidence]
    if not found:
        return None
    if spec.monotone:
        raise ValueError("weight_penalty='evidence' does not go with monotone. Use weight_penalty='rkhs'.")
    if not spec.loss.is_quadratic:
        raise ValueError(
            f"weight_penalty='evidence' needs loss='squared'; got loss={spec.asked_loss!r}. Use weight_penalty='rkhs'."
        )
    if len(given) > 1:
        raise ValueError(
            f"weight_penalty='evidence' goes with no other penalty on the weights; got {spec.weight_penalty!r}."
        )
    if any(view.kernel.shifted for view in spec.views):
        raise ValueError("weight_penalty='evidence' needs a kernel without a shift (2k-1). Use weight_penalty='rkhs'.")
    if not smooth:
        raise ValueError(
            "weight_penalty='evidence' needs a basis_penalty with a gradient, 'l2' or None; "
            f"got {spec.basis_penalty!r}. Use weight_penalty='rkhs'."
        )
    evidence: Evidence = found[0]
    return evidence


def _suits_evidence(spec: Spec, data: Data) -> bool:
    """Whether the evidence is the default: squared loss of real targets, and kernels and a solver that allow it."""
    if data.target.of_classes or not spec.loss.is_quadratic or spec.monotone:
        return False
    # Pairs that share entities are no independent samples: the evidence takes too much of them for noise, measured.
    # The evidence needs k(x, x), which a metric that is learned would change unless the kernel is stationary.
    kernels_fit = all(
        not view.kernel.shifted and (view.kernel.stationary or metric_of(spec, view, "relevances") == "fixed")
        for view in spec.views
    )
    return data.independent and kernels_fit and _eliminates(spec)


def _eliminates(spec: Spec) -> bool:
    """Whether the solver, by name or as an object, eliminates the weights."""
    solver = spec.solver
    if isinstance(solver, str):
        return solver == "auto" or (solver in SOLVERS and SOLVERS[solver]().needs == ("elimination",))
    return getattr(solver, "needs", ()) == ("elimination",)  # an object of the user's is checked where it is resolved

"""The search for kernel, columns, strength and number of vectors, judged on held-out rows.

1. *Initial supports*: dot-product kernels run their paths from many features to few; other kernels start from the
   features of the best path, and from all features if these are few. Triples that interact are a start, too.
2. *Eliminate*: from the best point of each, columns leave by what the loss says.
3. *Pick*: the smallest model as good as the best one, of the kernel with the lowest held-out loss; with a budget of
   columns and a kernel of a distance the largest within it.
4. *Polish*: columns that the gradient asks for come back, for several strengths of the penalty, and leave again if
   they bring nothing.
5. *Size*: other numbers of basis vectors are tried on the columns found; kernels of a dot product get more of them
   beside those of the path, and look for columns that these have room for.
6. *Confirm*: the likelihood of all rows together tells which columns are there by chance, and which are missing.

Every step but the last is done in each fold on its training rows; the rule looks at the held-out rows of all folds
together. The decisions are then carried out on all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from spkm.kernels import Kernel
from spkm.losses import Loss
from spkm.selection._agreement import agreed_columns, left_at, n_groups
from spkm.selection._choice import Candidate, Choice, Start, StopSearch, only_kernel
from spkm.selection._confirmation import ROWS_FOR_PARAMETER, WEAK, confirm
from spkm.selection._elimination import (
    COARSE,
    FINE,
    FIRST_ITERATIONS,
    Submodel,
    eliminate,
    eliminate_together,
    fit_submodel,
    moved,
    with_more,
)
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._initial_supports import FEW_COLUMNS, InitialSupports, Paths
from spkm.selection._one_standard_error import FOR_FEATURES, mean_and_error
from spkm.selection._resize_basis import grow, prune
from spkm.selection._screening import varies
from spkm.selection._sparse_path import has_path
from spkm.selection._validation import Fold, Validation
from spkm.sources import ArraySource
from spkm.starts import KMeans, first_theta

POLISHES = 2  # rounds at most
WIDER = 1.5  # times the units of a choice: those with which folds that agree on their columns begin a polish
PATIENCE = 2  # sizes without a gain after which vectors are no longer added
GAIN = 0.01  # share of the held-out loss
PRUNING = (1e-4, 1e-3, 1e-2)  # strengths of the l1 penalty on the weights, beside a loss that is a mean over rows
BEYOND_CHANCE = 2  # standard errors of the gain for which a kernel with a path gets more vectors than its path has
BEYOND = 2  # factors that may be tried beyond an end of the grid, while the end is best


class Search:
    """The search over some folds.

    Parameters
    ----------
    validation : Validation
        Folds and what held-out rows say.
    candidates : list of Candidate
        Kernels in the supports; among equals the first wins.
    units : FeatureGroups
        What enters and leaves together.
    max_features : int or None
        Most columns of the model; None keeps all columns and selects nothing.
    fit_intercept : bool
        Whether b is learned.
    on_step : callable, default=None
        Told of every step by a line of text; asks to stop by returning True.
    """

    def __init__(
        self,
        validation: Validation,
        candidates: list[Candidate],
        units: FeatureGroups,
        max_features: int | None,
        fit_intercept: bool = True,
        on_step: Callable[[str], bool] | None = None,
    ) -> None:
        self.validation = validation
        self.folds = validation.folds
        self.loss: Loss = validation.loss
        self.candidates = candidates
        self.units = units
        self.selects = max_features is not None
        self.max_features = len(units.label) if max_features is None else max_features
        looked_at = [term.columns(len(units.label)) for c in candidates for term in c.terms]
        small_enough = units.columns(units.size <= self.max_features)
        self.allowed = np.intersect1d(small_enough, np.concatenate(looked_at))
        if self.selects:
            varying = np.logical_or.reduce([varies(fold.train) for fold in self.folds])
            useful = self.allowed[varying[self.allowed]]
            self.allowed = units.columns(np.unique(units.label[useful])) if len(useful) else self.allowed
        self._tell = on_step or (lambda text: False)
        self._stop_asked = self._may_stop = False
        self.supports = InitialSupports(
            validation, candidates, units, self.allowed, self.selects, fit_intercept, self.on_step
        )

    def on_step(self, text: str) -> None:
        """Tell of a step; leave the search if that asks to stop and there is a choice to keep."""
        self._stop_asked = self._tell(text) or self._stop_asked
        if self._stop_asked and self._may_stop:
            raise StopSearch

    def run(self) -> Choice:
        """Return the choice."""
        kernels = self.supports.kernels()
        paths = [self.supports.paths(fold, kernels) for fold in self.folds]
        choices = [
            self._eliminated(candidate, start, paths)
            for candidate in self.candidates
            for start in self.supports.starts(candidate, paths)
        ]
        choice = choices[self.validation.simplest([c.losses for c in choices], np.arange(len(choices)))[0]]
        try:
            self._may_stop = True
            if self._stop_asked:
                raise StopSearch
            choice = self._settled(choice)
            return self._grown(choice) if has_path(choice.candidate.kernel) else self._sized(choice)
        except (KeyboardInterrupt, StopSearch) as stop:
            return replace(choice, stopped=stop)
        finally:
            self._may_stop = False  # what was chosen is carried out to its end

    def refit(self, choice: Choice, fold: Fold) -> Submodel:
        """Return the model of the choice on the training rows of ``fold``: the same steps, nothing left to decide."""
        if self.selects and self._agree(choice.models):
            columns = choice.models[0].columns
            model = self._anew(choice.candidate, columns, fold, choice.n_basis or None, choice.factor)
        else:
            model = self._refit_by_steps(choice, fold)
        return prune(model, fold.train, choice.pruning, fold.rng) if choice.pruning else model

    def columns_by_themselves(self, choice: Choice, fold: Fold) -> np.ndarray:
        """Return the columns, as many as the choice has, that the rows of ``fold`` alone would choose."""
        return self._refit_by_steps(replace(choice, left_at=[]), fold).columns

    def _refit_by_steps(self, choice: Choice, fold: Fold) -> Submodel:
        """Return the model of the choice, of columns that the folds may not agree on, after the same steps."""
        candidate, kernel = choice.candidate, choice.start.kernel
        paths: Paths = {} if kernel is None else self.supports.paths(fold, [kernel])
        model = self.supports.first(candidate, fold, choice.start, paths, candidate.factors[-1])
        columns = model.columns
        if self.selects:
            model = self._reduced(model, fold, choice.n_units)[-1]
        model = self._with_room(choice, model, fold)
        if self.selects:
            sequence = self._reduced(with_more(model, fold.train, self.units, self.allowed, fold.rng), fold, 1, FINE)
            columns = agreed_columns(choice, sequence, self.units, self.max_features)
            model = min(sequence, key=lambda m: abs(self._count(m) - choice.n_units))
        model = moved(model, fold.train, columns, fold.rng, choice.factor / candidate.factors[-1])
        if choice.n_basis and not has_path(candidate.kernel):
            model = self._anew(candidate, columns, fold, choice.n_basis, choice.factor)
        return model

    def confirmed(self, choice: Choice, model: Submodel, everything: Fold) -> tuple[Choice, Submodel]:
        """Return the choice and its model after a last look at the columns on all rows, if held-out rows agree.

        More columns must not be worse, fewer by no more than one standard error: each with its own best strength, as
        that of the choice was chosen for other columns.
        """
        source, rng = everything.train, everything.rng
        too_few = source.total_weight < ROWS_FOR_PARAMETER * model.model.n_params
        if (
            choice.stopped is not None
            or too_few
            or not self._has_likelihood
            or self._has_budget(choice.candidate.kernel)
        ):
            return choice, model
        self._may_stop = True
        try:
            self._may_stop = True
            return self._confirmed(choice, model, source, rng)
        except (KeyboardInterrupt, StopSearch) as stop:
            return replace(choice, stopped=stop), model
        finally:
            self._may_stop = False

    def _confirmed(
        self, choice: Choice, model: Submodel, source: ArraySource, rng: np.random.Generator
    ) -> tuple[Choice, Submodel]:
        weaker = min(1.0, WEAK / choice.factor)
        found = confirm(moved(model, source, model.columns, rng, weaker), source, self.units, self.allowed, rng)
        self.on_step(f"confirmation with {choice.candidate.name}")
        columns = found.columns
        if np.array_equal(model.columns, columns) or len(columns) > self.max_features:
            return choice, model
        models = [moved(found, fold.train, columns, fold.rng, 1.0 / weaker) for fold in self.folds]
        other = self._judged(replace(choice, n_units=self._count(found)), "confirmation", models)
        other = self._with_strength(other)
        worse, error = mean_and_error(other.losses - choice.losses, self.validation.weight)
        if worse > (error if len(columns) < len(model.columns) else 0.0):
            return choice, model
        return other, moved(found, source, columns, rng, other.factor / (choice.factor * weaker))

    @property
    def _has_likelihood(self) -> bool:
        """Whether the loss is minus the logarithm of a probability, and judges by itself."""
        return self.selects and self.loss.is_likelihood and self.validation.scorer is None

    def sequence(self, choice: Choice, fold: Fold) -> list[Submodel]:
        """Return the models of the choice on the training rows of ``fold`` from its first columns down to one unit."""
        paths: Paths = {} if choice.start.kernel is None else self.supports.paths(fold, [choice.start.kernel])
        first = self.supports.first(choice.candidate, fold, choice.start, paths, choice.factor)
        larger = self._with_room(choice, first, fold)
        if self.selects and larger is not first:  # and columns that the vectors of the path had no room for
            larger = with_more(larger, fold.train, self.units, self.allowed, fold.rng)
        # Held-out rows will score these models, and have no say in their columns.
        return self._reduced(larger, replace(fold, test=None), 1)

    def _with_room(self, choice: Choice, model: Submodel, fold: Fold) -> Submodel:
        """Return the model with the vectors that were chosen beside those of its path."""
        if not choice.n_basis or not has_path(choice.candidate.kernel):
            return model
        return grow(model, fold.train, choice.n_basis, fold.rng)

    def _eliminated(self, candidate: Candidate, start: Start, paths: list[Paths]) -> Choice:
        factor = candidate.factors[-1]
        pairs = zip(self.folds, paths, strict=True)
        firsts = [self.supports.first(candidate, fold, start, of_fold, factor) for fold, of_fold in pairs]
        sequences = self._all_reduced(firsts, 1, COARSE, f"elimination with {candidate.name}")
        if not sequences[0][0].problem.has_strength:
            factor = 1.0  # there is no strength to multiply, and a report of one would mislead
        return self._picked(Choice(candidate, start, factor, 0, [], np.zeros(0), np.inf), "elimination", sequences)

    def _all_reduced(self, firsts: list[Submodel], least: int, ratio: float, step: str) -> list[list[Submodel]]:
        """Return the eliminations of all folds: one for all of them where the evidence ranks the same columns."""
        if self.selects and self._agree(firsts):
            sources, rngs = [fold.train for fold in self.folds], [fold.rng for fold in self.folds]
            sequences = eliminate_together(firsts, sources, self.units, least, self.max_features, rngs, ratio)
            self.on_step(step)
            return sequences
        sequences = []
        for fold, first in zip(self.folds, firsts, strict=True):
            sequences.append(self._reduced(first, fold, least, ratio))
            self.on_step(step)
        return sequences

    def _reduced(self, model: Submodel, fold: Fold, least: int, ratio: float = COARSE) -> list[Submodel]:
        """Return models of fewer and fewer units.

        Where a budget says how many are left, held-out rows need not; they help to say which.
        """
        if not self.selects:
            return [model]
        unseen = fold.test if self._has_budget(only_kernel(model.problem.terms)) else None
        return eliminate(model, fold.train, self.units, least, self.max_features, fold.rng, ratio, unseen)

    @staticmethod
    def _agree(models: list[Submodel]) -> bool:
        """Whether the models of all folds are of the same columns, and the evidence ranks them."""
        columns = models[0].columns
        return models[0].problem.ranks_features and all(np.array_equal(m.columns, columns) for m in models)

    def _settled(self, choice: Choice) -> Choice:
        """Return the choice after polishes and other strengths, until neither changes it."""
        for _ in range(POLISHES):
            before = choice
            if self.selects:
                choice = self._polished(choice)
            choice = self._with_strength(choice)
            if before.n_units == choice.n_units and before.factor == choice.factor:
                break
        return choice

    def _polished(self, choice: Choice) -> Choice:
        """Return the choice after columns came back and left again; as it was if that brings nothing."""
        if self._agree(choice.models):
            # From the start, as a fit with much noise around it ends where columns that count a little are lost.
            first = [self._anew(choice.candidate, choice.wider, fold, None, choice.factor) for fold in self.folds]
        else:
            pairs = zip(self.folds, choice.models, strict=True)
            first = [with_more(m, fold.train, self.units, self.allowed, fold.rng) for fold, m in pairs]
        sequences = self._all_reduced(first, _half(choice), FINE, f"polish with {choice.candidate.name}")
        return min(choice, self._picked(choice, "polish", sequences), key=lambda c: c.best)

    def _with_strength(self, choice: Choice) -> Choice:
        """Return the choice with a penalty that does as well as any on its columns.

        It is the strongest where the kernel has a path. Of other kernels it is the one next to the default, which was
        measured by accuracy: stronger ones of the same loss are less often right.
        """
        if not choice.models[0].problem.has_strength:
            return choice
        rivals = {choice.factor: choice}
        wanted = [factor for factor in choice.candidate.factors if factor != choice.factor]
        at_edge: tuple[str, ...] = ()
        for _ in range(BEYOND + 1 if wanted else 0):
            for factor in wanted:
                pairs = zip(self.folds, choice.models, strict=True)
                models = [moved(m, fold.train, m.columns, fold.rng, factor / choice.factor) for fold, m in pairs]
                rivals[factor] = self._judged(replace(choice, factor=factor), "strength", models)
            self.on_step(f"strengths with {choice.candidate.name}")
            tried = sorted(rivals)
            price = -np.array(tried) if has_path(choice.candidate.kernel) else np.abs(np.log(tried))
            best = tried[self.validation.simplest([rivals[factor].losses for factor in tried], price)[0]]
            at_edge = ("strength of the penalty",) if best in (min(rivals), max(rivals)) else ()
            wanted = [best / 10 if best == min(rivals) else best * 10]
            if not at_edge:
                break
        return replace(rivals[best], at_edge=at_edge) if len(rivals) > 1 else choice

    def _grown(self, choice: Choice) -> Choice:
        """Return the choice with more vectors beside its own, if held-out rows ask for them.

        A path starts with few vectors, which find columns best. They may have no room for all of these.
        """
        for n_basis in choice.candidate.sizes:
            sequences = []
            for fold, model in zip(self.folds, choice.models, strict=True):
                larger = grow(model, fold.train, n_basis, fold.rng)
                if self.selects:
                    larger = with_more(larger, fold.train, self.units, self.allowed, fold.rng)
                sequences.append(self._reduced(larger, fold, _half(choice), FINE))
            self.on_step(f"{n_basis} vectors with {choice.candidate.name}")
            rival = self._picked(replace(choice, n_basis=n_basis), "size", sequences)
            gain, error = mean_and_error(choice.losses - rival.losses, self.validation.weight)
            if not gain > BEYOND_CHANCE * error:
                break
            choice = self._settled(rival)
        return _told_of_most_vectors(choice)

    def _sized(self, choice: Choice) -> Choice:
        """Return the choice with as many basis vectors as held-out rows ask for: grown, then pruned by l1."""
        if not choice.candidate.sizes:
            return choice
        rivals: list[Choice] = []
        for n_basis in choice.candidate.sizes:
            pairs = zip(self.folds, choice.models, strict=True)
            models = [self._anew(choice.candidate, m.columns, fold, n_basis, choice.factor) for fold, m in pairs]
            rivals.append(self._judged(replace(choice, n_basis=n_basis), "size", models))
            self.on_step(f"{n_basis} vectors with {choice.candidate.name}")
            if len(rivals) > PATIENCE and not self._grows(rivals):
                break
        rivals.append(choice)  # vectors may no longer have been added before there were as many
        counts = np.array([rival.n_basis or choice.candidate.n_basis for rival in rivals])
        chosen = rivals[self.validation.simplest([r.losses for r in rivals], counts)[0]]
        return self._pruned(_told_of_most_vectors(chosen))

    def _grows(self, rivals: list[Choice]) -> bool:
        """Whether the last sizes improved on all before them, by little: several small steps may be a large one."""
        before = min(rival.best for rival in rivals[:-PATIENCE])
        return any(before - rival.best > GAIN * abs(before) for rival in rivals[-PATIENCE:])

    def _pruned(self, choice: Choice) -> Choice:
        """Return the choice with the strongest l1 penalty on the weights that costs nothing."""
        rivals = [choice]
        for strength in PRUNING:
            pairs = zip(self.folds, choice.models, strict=True)
            models = [prune(model, fold.train, strength, fold.rng) for fold, model in pairs]
            rivals.append(self._judged(replace(choice, pruning=strength), "pruning", models))
        self.on_step(f"pruning with {choice.candidate.name}")
        return rivals[self.validation.simplest([r.losses for r in rivals], -np.arange(len(rivals)))[0]]

    def _judged(self, choice: Choice, stage: str, models: list[Submodel]) -> Choice:
        losses = self.validation.losses(models)
        n_features, n_basis = np.mean([(len(m.columns), m.model.n_basis) for m in models], axis=0).tolist()
        what = (choice.candidate.name, stage, choice.factor, n_features, n_basis)
        return replace(
            choice, models=models, losses=losses, best=self.validation.record(*what, losses, self.validation.weight)
        )

    def _anew(
        self, candidate: Candidate, columns: np.ndarray, fold: Fold, n_basis: int | None, factor: float
    ) -> Submodel:
        """Return the candidate fitted on some columns from the start."""
        source = fold.train.columns(columns)
        problem = candidate.build(source, columns, n_basis).with_factor(factor)
        theta = first_theta(problem.objective(source, columns), KMeans(), "ridge", fold.rng)
        return fit_submodel(problem, fold.train, columns, theta, 2 * FIRST_ITERATIONS, fold.rng)

    def _picked(self, choice: Choice, stage: str, sequences: list[list[Submodel]]) -> Choice:
        """Return the choice among the numbers of units that the folds' eliminations passed through."""
        counts = [[self._count(model) for model in sequence] for sequence in sequences]
        offers: list[Choice] = []
        sizes = []
        for size in sorted(set().union(*counts)):
            # Of each fold the largest model that has no more units.
            places = [next((i for i, c in enumerate(of_fold) if c <= size), -1) for of_fold in counts]
            models = [sequence[i] for sequence, i in zip(sequences, places, strict=True)]
            if max(len(model.columns) for model in models) > self.max_features:
                continue
            offers.append(self._judged(choice, stage, models))
            sizes.append(size)
        if not offers:  # larger groups came in, and more than the budget
            return replace(choice, best=np.inf)
        price = -1 if self._has_budget(choice.candidate.kernel) else 1
        place, best = self.validation.simplest(
            [offer.losses for offer in offers], price * np.array(sizes), FOR_FEATURES
        )
        chosen = offers[place]
        n_units = max(self._count(model) for model in chosen.models)
        larger = [model.columns for model in sequences[0] if self._count(model) >= WIDER * n_units]
        return replace(
            chosen,
            n_units=n_units,
            best=offers[best].best,
            wider=larger[-1] if larger else sequences[0][0].columns,
            left_at=[left_at(sequence, self.units) for sequence in sequences] if self.selects else [],
        )

    def _has_budget(self, kernel: Kernel | None) -> bool:
        """Whether columns stay, as many as the budget has, unless held-out rows do better without them.

        A classifier of one kernel without a path knows a few hundred rows by heart, and its held-out loss hardly
        changes while columns leave; accuracy falls with them (measured). A user who names a budget can afford them. Not
        so among many columns, of which some suit the held-out rows by chance.
        """
        limited = self.max_features < len(self.units.label) and len(self.allowed) <= FEW_COLUMNS
        return limited and self.loss.target == "signs" and kernel is not None and not has_path(kernel)

    def _count(self, model: Submodel) -> int:
        return n_groups(model, self.units)


def _told_of_most_vectors(choice: Choice) -> Choice:
    """Return the choice, with a word on it if it has the largest number of vectors that was tried."""
    if choice.candidate.sizes and choice.n_basis == max(choice.candidate.sizes):
        return replace(choice, at_edge=(*choice.at_edge, "number of basis vectors"))
    return choice


def _half(choice: Choice) -> int:
    """Return the least number of units that a polish looks at."""
    return max(1, choice.n_units // 2)

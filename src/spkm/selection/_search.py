"""The search for kernel, features, strength and number of basis vectors.

1. *Screen*: which features go with the targets beyond chance, by themselves, in pairs and in threes.
2. *Begin*: a dot-product kernel with the features of its sparse path, every kernel with those of the screen.
3. *Eliminate*: the group whose removal raises the training loss least leaves, down to one group.
4. *Pick*: of each kernel the smallest model within one standard error of its best; of those that are beyond chance
   better than the empty model the simplest kernel within one standard error of the best, or the empty model if none is.
5. *Strength* and, if asked for, number of basis vectors: on the features found, by held-out samples.
6. *Refit*: steps 1 to 3 on all samples; the features that folds and all samples kept most often are fitted.

Steps 1 to 3 see the training samples of a fold alone: **held-out samples have no say in the models that they judge**.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from spkm.losses import Loss
from spkm.selection._begin import Beginnings
from spkm.selection._choice import Candidate, Choice, StopSearch
from spkm.selection._elimination import Submodel, eliminate, fit_submodel, moved
from spkm.selection._empty import empty_model
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._one_standard_error import mean_and_error
from spkm.selection._screening import varies
from spkm.selection._settings import DEFAULTS, SearchSettings
from spkm.selection._sparse_path import has_path
from spkm.selection._validation import Fold, Validation
from spkm.starts import KMeans, first_theta


class Search:
    """The search over some folds.

    Parameters
    ----------
    validation : Validation
        Folds and what held-out samples say.
    candidates : list of Candidate
        Kernels in the race, the simplest first.
    units : FeatureGroups
        What enters and leaves together.
    max_features : int or None
        Most columns of the model; None keeps all columns and selects nothing.
    fit_intercept : bool
        Whether b is learned.
    on_step : callable, default=None
        Told of every step by a line of text; asks to stop by returning True.
    max_groups : int, default=None
        Most groups of the model.
    settings : SearchSettings
        The numbers of the search.
    """

    def __init__(
        self,
        validation: Validation,
        candidates: list[Candidate],
        units: FeatureGroups,
        max_features: int | None,
        fit_intercept: bool = True,
        on_step: Callable[[str], bool] | None = None,
        max_groups: int | None = None,
        settings: SearchSettings = DEFAULTS,
    ) -> None:
        self.validation = validation
        self.folds = validation.folds
        self.loss: Loss = validation.loss
        self.candidates = candidates
        self.units = units
        self.settings = settings
        self.selects = max_features is not None
        self.max_features = len(units.label) if max_features is None else max_features
        self.max_groups = max_groups or len(units.size)
        self.beginnings = Beginnings(
            self.loss, candidates, units, self._allowed(), self.selects, fit_intercept, settings
        )
        self._tell = on_step or (lambda text: False)
        self._stop_asked = self._may_stop = False
        self._done, self._steps = 0, len(candidates) * len(self.folds) + 2

    def _allowed(self) -> np.ndarray:
        """Return the columns that some candidate looks at, that fit the budget, and that vary somewhere."""
        units = self.units
        looked_at = [term.columns(len(units.label)) for c in self.candidates for term in c.terms]
        small_enough = units.columns(units.size <= self.max_features)
        allowed = np.intersect1d(small_enough, np.concatenate(looked_at))
        if not self.selects:
            return allowed
        varying = np.logical_and.reduce([varies(fold.train) for fold in self.folds])
        useful = allowed[varying[allowed]]
        return units.columns(np.unique(units.label[useful])) if len(useful) else allowed

    def on_step(self, text: str) -> None:
        """Tell of a step; leave the search if that asks to stop and there is a choice to keep."""
        self._done = min(self._done + 1, self._steps)
        self._stop_asked = self._tell(f"{100 * self._done // self._steps} %: {text}") or self._stop_asked
        if self._stop_asked and self._may_stop:
            raise StopSearch

    def run(self) -> Choice:
        """Return the choice; if the search is stopped and there is one, the best so far."""
        choices: list[Choice] = []
        chosen: Choice | None = None
        try:
            for candidate in self.candidates:
                choices.append(self._eliminated(candidate))
                self._may_stop = True
                if self._stop_asked:
                    raise StopSearch
            chosen = self._simplest(choices)
            if not chosen.is_empty:
                chosen = self._with_strength(chosen)
                chosen = self._sized(chosen)
            return chosen
        except (KeyboardInterrupt, StopSearch) as stop:
            if not choices:
                raise
            return replace(chosen or self._simplest(choices), stopped=stop)
        finally:
            self._may_stop = False  # what was chosen is carried out to its end

    def _eliminated(self, candidate: Candidate) -> Choice:
        """Return the best number of groups of a candidate."""
        sequences = []
        for fold in self.folds:
            sequences.append(self.sequence_of(candidate, fold, candidate.factors[-1]))
            self.on_step(f"elimination with {candidate.name}")
        factor = candidate.factors[-1] if sequences[0][0].problem.has_strength else 1.0
        return self._picked(Choice(candidate, factor, 0, [], np.zeros(0)), sequences)

    def sequence_of(
        self, candidate: Candidate, fold: Fold, factor: float, least: int = 1, n_basis: int | None = None
    ) -> list[Submodel]:
        """Return a candidate's models on the training samples of ``fold``, from its first features down."""
        first = self.beginnings.first(candidate, fold, factor, n_basis)
        if not self.selects:
            return [first]
        certain = self.beginnings.certain(fold)
        budget = (self.max_features, fold.rng, self.settings)
        sequence = eliminate(first, fold.train, self.units, max(least, len(certain)), *budget)
        if len(certain) and n_basis is None:
            # As many groups are left as the screen is certain of: the better of the two models goes on.
            rival = self.beginnings.of_screen(candidate, fold, certain, factor)
            if len(rival.columns) <= self.max_features and rival.objective < sequence[-1].objective:
                sequence[-1] = rival
        return [*sequence[:-1], *eliminate(sequence[-1], fold.train, self.units, least, *budget)]

    def sequence(self, choice: Choice, fold: Fold) -> list[Submodel]:
        """Return the models of the choice on the training samples of ``fold``, from its first features down to one."""
        return self.sequence_of(choice.candidate, fold, choice.factor, 1, choice.n_basis or None)

    def _picked(self, choice: Choice, sequences: list[list[Submodel]]) -> Choice:
        """Return the choice among the numbers of groups that the folds' eliminations passed through."""
        counts = [[self.n_groups(model) for model in sequence] for sequence in sequences]
        offers: list[Choice] = []
        sizes = []
        for size in sorted(set().union(*counts)):
            # Of each fold the largest model that has no more groups.
            places = [next((i for i, c in enumerate(of_fold) if c <= size), -1) for of_fold in counts]
            models = [sequence[i] for sequence, i in zip(sequences, places, strict=True)]
            n_columns = max(len(model.columns) for model in models)
            if offers and (n_columns > self.max_features or size > self.max_groups):
                break
            n_units = max(map(self.n_groups, models))
            offers.append(self._judged(replace(choice, n_units=n_units), "elimination", models))
            sizes.append(size)
        place, _ = self.validation.simplest([o.losses for o in offers], np.array(sizes), self.settings.feature_share)
        left = [self._left_at(sequence) for sequence in sequences] if self.selects else []
        return replace(offers[place], left_at=left)

    def _simplest(self, choices: list[Choice]) -> Choice:
        """Return the simplest kernel as good as the best of those better than the empty model; that one if none is."""
        if self.selects:
            models = [empty_model(choices[0].candidate, self.beginnings.allowed[:1], fold) for fold in self.folds]
            empty = self._judged(replace(choices[0], n_units=0, is_empty=True), "empty model", models)
            choices = [choice for choice in choices if self._beyond_chance(choice, empty, len(choices))]
            if not choices:
                return empty
        return choices[self.validation.simplest([choice.losses for choice in choices], np.arange(len(choices)))[0]]

    def _beyond_chance(self, choice: Choice, empty: Choice, n_kernels: int) -> bool:
        """Whether held-out samples prefer a model to the empty one beyond chance: one-sided, over all kernels tried."""
        gain, error = mean_and_error(empty.losses - choice.losses, self.validation.weight)
        certain = [set(self.beginnings.certain(fold)) for fold in self.folds]
        # Where the screens of all folds name the same feature, better at all will do.
        least = 0.0 if set.intersection(*certain) else -ndtri(self.settings.empty_chance / n_kernels)
        return bool(gain > least * error)

    def _with_strength(self, choice: Choice) -> Choice:
        """Return the choice with a penalty that does as well as any on its features.

        It is the strongest where the kernel has a path. Of other kernels it is the one next to the default, which was
        measured by accuracy: stronger ones of the same loss are less often right.
        """
        if not choice.models[0].problem.has_strength or len(choice.candidate.factors) == 1:
            return choice
        rivals = {choice.factor: choice}
        wanted = [factor for factor in choice.candidate.factors if factor != choice.factor]
        for _ in range(self.settings.steps_beyond + 1):
            for factor in wanted:
                models = [self._stronger(choice, m, f, factor) for m, f in zip(choice.models, self.folds, strict=True)]
                rivals[factor] = self._judged(replace(choice, factor=factor), "strength", models)
            tried = sorted(rivals)
            price = -np.array(tried) if has_path(choice.candidate.kernel) else np.abs(np.log(tried))
            losses = [rivals[factor].losses for factor in tried]
            best = tried[self.validation.simplest(losses, price, self.settings.other_share)[0]]
            if best not in (tried[0], tried[-1]):
                break
            wanted = [best / 10 if best == tried[0] else best * 10]
        self.on_step(f"strengths with {choice.candidate.name}")
        return rivals[best]

    def _stronger(self, choice: Choice, model: Submodel, fold: Fold, factor: float) -> Submodel:
        """Return the model with another strength; with a path from where it stands, as it would find little else."""
        if has_path(choice.candidate.kernel):
            return moved(model, fold.train, model.columns, fold.rng, factor / choice.factor, self.settings)
        return self._anew(choice.candidate, model.columns, fold, choice.n_basis or None, factor)

    def _sized(self, choice: Choice) -> Choice:
        """Return the choice with as many basis vectors as held-out samples ask for."""
        if not choice.candidate.sizes:
            return choice
        rivals = [choice]
        for n_basis in choice.candidate.sizes:
            pairs = zip(self.folds, choice.models, strict=True)
            models = [self._anew(choice.candidate, m.columns, fold, n_basis, choice.factor) for fold, m in pairs]
            rivals.append(self._judged(replace(choice, n_basis=n_basis), "size", models))
        self.on_step(f"numbers of vectors with {choice.candidate.name}")
        counts = np.array([rival.n_basis or choice.candidate.terms[0].n_basis for rival in rivals])
        losses = [rival.losses for rival in rivals]
        place = self.validation.simplest(losses, counts, self.settings.other_share)[0]
        at_edge = ("number of basis vectors",) if counts[place] == max(choice.candidate.sizes) else ()
        return replace(rivals[place], at_edge=at_edge)

    def refit(self, choice: Choice, fold: Fold) -> Submodel:
        """Return the model of the choice on the training samples of ``fold``: the same steps, nothing left to decide.

        Its features are those that most eliminations kept, of the folds and of these samples.
        """
        candidate = choice.candidate
        if choice.is_empty:
            return empty_model(candidate, self.beginnings.allowed[:1], fold)
        sequence = self.sequence_of(candidate, fold, candidate.factors[-1], max(choice.n_units, 1))
        columns = self._agreed(choice, sequence) if self.selects else sequence[-1].columns
        if not has_path(candidate.kernel):
            return self._anew(candidate, columns, fold, choice.n_basis or None, choice.factor)
        model = min(sequence, key=lambda m: abs(self.n_groups(m) - choice.n_units))
        return moved(model, fold.train, columns, fold.rng, choice.factor / candidate.factors[-1], self.settings)

    def columns_by_themselves(self, choice: Choice, fold: Fold) -> np.ndarray:
        """Return the columns, as many groups as the choice has, that the samples of ``fold`` alone would choose."""
        if choice.is_empty:
            return np.zeros(0, dtype=int)
        return self.sequence_of(choice.candidate, fold, choice.candidate.factors[-1], choice.n_units)[-1].columns

    def frequencies(self, choice: Choice) -> np.ndarray:
        """Return the share of folds whose model of the chosen size holds each column, (d,)."""
        if choice.is_empty:
            return np.zeros(len(self.units.label))
        return np.mean([left <= choice.n_units for left in choice.left_at], axis=0)[self.units.label]

    def _agreed(self, choice: Choice, sequence: list[Submodel]) -> np.ndarray:
        """Return the columns that most eliminations kept at the chosen size; among equals those that stayed longest."""
        sizes = np.array([*choice.left_at, self._left_at(sequence)])
        votes = np.count_nonzero(sizes <= choice.n_units, axis=0)
        chosen = np.lexsort((np.log(sizes).mean(axis=0), -votes))[: choice.n_units]
        while self.units.size[chosen].sum() > self.max_features:
            chosen = chosen[:-1]
        return self.units.columns(chosen)

    def _left_at(self, sequence: list[Submodel]) -> np.ndarray:
        """Return the size of the smallest model of an elimination that holds each group; the number of all if none."""
        sizes = np.full(len(self.units.size), len(self.units.size) + 1)
        for model in sequence:
            sizes[self.units.label[model.columns]] = self.n_groups(model)
        return sizes

    def _judged(self, choice: Choice, stage: str, models: list[Submodel]) -> Choice:
        losses = self.validation.losses(models)
        n_features = 0.0 if choice.is_empty else float(np.mean([len(m.columns) for m in models]))
        n_basis = float(np.mean([m.model.n_basis for m in models]))
        self.validation.record(
            choice.candidate.name, stage, choice.factor, n_features, n_basis, losses, self.validation.weight
        )
        return replace(choice, models=models, losses=losses)

    def _anew(
        self, candidate: Candidate, columns: np.ndarray, fold: Fold, n_basis: int | None, factor: float
    ) -> Submodel:
        """Return the candidate fitted on some columns from the start."""
        source = fold.train.columns(columns)
        problem = candidate.build(source, columns, n_basis).with_factor(factor)
        theta = first_theta(problem.objective(source, columns), KMeans(), "ridge", fold.rng)
        iterations = 2 * self.settings.first_iterations
        return fit_submodel(problem, fold.train, columns, theta, iterations, fold.rng, self.settings.tolerance)

    def n_groups(self, model: Submodel) -> int:
        """Return the number of feature groups of a model."""
        return len(np.unique(self.units.label[model.columns]))

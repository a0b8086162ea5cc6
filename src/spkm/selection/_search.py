"""The search for kernel, features, strength and number of basis vectors.

1. *Screen*: which features go with the targets beyond chance, by themselves, in pairs and in threes.
2. *Begin*: a dot-product kernel with the features of its sparse path, every kernel with those of the screen.
3. *Eliminate*: the group whose removal raises the training loss least leaves, down to one group; groups of large slopes
   of the loss enter again on the way, if the kernel is a polynomial.
4. *Pick*: of each kernel the smallest model as good as its best; of those that are beyond chance better than the empty
   model the simplest kernel as good as the best, or the empty model if none is. If that kernel is a *guide*, the
   kernel that was asked for gets its features.
5. Number of basis vectors and *strength*: on the features found, by held-out samples.
6. *Refit*: steps 1 to 3 on all samples; the features that folds and all samples kept most often are fitted.

Steps 1 to 3 see the training samples of a fold alone: **held-out samples have no say in the models that they judge**.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from spkm.losses import Loss
from spkm.selection._choice import Candidate, Choice, StopSearch
from spkm.selection._elimination import Submodel, eliminate, grown, moved
from spkm.selection._entering import floating_elimination, n_groups
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._first_models import FirstModels, empty_model
from spkm.selection._screening import varies
from spkm.selection._settings import DEFAULTS, SearchSettings
from spkm.selection._sparse_path import has_path
from spkm.selection._validation import Fold, Validation, mean_and_error, record_of


class Search:
    """The search over some folds.

    Parameters
    ----------
    validation : Validation
        Folds and what held-out samples say.
    candidates : list of Candidate
        Kernels in the race, the simplest first.
    units : FeatureGroups
        Groups of features that enter and leave together.
    max_features : int or None
        Most features of the model; None keeps all features and selects nothing.
    fit_intercept : bool
        Whether b is learned.
    on_step : callable, default=None
        Told of every step by a line of text; it stops the search by returning True.
    max_groups : int, default=None
        Most groups of the model.
    settings : SearchSettings
        The numbers of the search.
    guides : list of Candidate, default=()
        Simpler kernels in the race, before the only candidate. The features of a guide that wins are the candidate's.
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
        guides: Sequence[Candidate] = (),
    ) -> None:
        self.validation = validation
        self.folds = validation.folds
        self.loss: Loss = validation.loss
        self.candidates = candidates
        self.guides = guides
        self.racers = [*guides, *candidates]
        self.units = units
        self.settings = settings
        self.selects = max_features is not None
        self.max_features = len(units.label) if max_features is None else max_features
        self.max_groups = max_groups or len(units.size)
        self.beginnings = FirstModels(
            self.loss, self.racers, units, self._allowed(), self.selects, fit_intercept, settings
        )
        self._tell = on_step or (lambda text: False)
        self._stop_asked = self._may_stop = False
        self._done, self._steps = 0, len(self.racers) * len(self.folds) + 2

    def _allowed(self) -> np.ndarray:
        """Return the features that some candidate reads, that fit the budget, and that vary somewhere."""
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
        """Tell of a step; leave the search if that stops it and there is a choice to keep."""
        self._done = min(self._done + 1, self._steps)
        self._stop_asked = self._tell(f"{100 * self._done // self._steps} %: {text}") or self._stop_asked
        if self._stop_asked and self._may_stop:
            raise StopSearch

    def run(self) -> Choice:
        """Return the choice; if the search is stopped and there is one, the best so far."""
        choices: list[Choice] = []
        chosen: Choice | None = None
        try:
            for candidate in self.racers:
                choice = self._eliminated(candidate, self._worth_more_than_nothing(choices))
                if choice is not None:
                    choices.append(choice)
                self._may_stop = True
                if self._stop_asked:
                    raise StopSearch
            chosen, tuned = self._simplest(choices)
            if chosen.is_empty:
                return chosen
            sized = self._sized(chosen)
            if chosen.candidate in self.guides:
                return self._with_strength(self._guided(sized))
            return tuned if tuned is not None and sized is chosen else self._with_strength(sized)
        except (KeyboardInterrupt, StopSearch) as stop:
            if not choices:
                raise
            self._may_stop = False
            chosen = chosen or self._simplest(choices)[0]
            if chosen.candidate in self.guides and not chosen.is_empty:
                chosen = self._guided(chosen)
            return replace(chosen, stopped=stop)
        finally:
            self._may_stop = False  # what was chosen is carried out to its end

    def _guided(self, guide: Choice) -> Choice:
        """Return the candidate, fitted on the features of a guide."""
        candidate = self.candidates[0]
        pairs = zip(self.folds, guide.models, strict=True)
        models = [self._anew(candidate, model.columns, fold, None, 1.0) for fold, model in pairs]
        choice = replace(guide, candidate=candidate, factor=1.0, n_basis=0, at_edge=(), guide=guide)
        return self._judged(choice, f"features of {guide.candidate.name}", models)

    def _eliminated(self, candidate: Candidate, rivals: list[Choice]) -> Choice | None:
        """Return the best number of groups of a candidate; None if some folds show that a rival is better."""
        sequences: list[list[Submodel]] = []
        for fold in self.folds:
            sequences.append(self.sequence_of(candidate, fold))
            self.on_step(f"elimination with {candidate.name}")
            if self._has_lost(candidate, sequences, rivals):
                self._done += len(self.folds) - len(sequences)
                return None
        return self._picked(Choice(candidate, 1.0, 0, [], np.zeros(0)), sequences)

    def _has_lost(self, candidate: Candidate, sequences: list[list[Submodel]], rivals: list[Choice]) -> bool:
        """Whether a rival is clearly better on the first folds, even than the best model of each elimination."""
        if self.validation.scorer is not None or len(sequences) == len(self.folds):
            return False  # a score of a fold has no standard error
        losses, models = [], []
        for i, sequence in enumerate(sequences):
            means = [
                mean_and_error(self.validation.losses_of_fold(m, i), self.validation.weights[i])[0] for m in sequence
            ]
            models.append(sequence[int(np.argmin(means))])
            losses.append(self.validation.losses_of_fold(models[-1], i))
        lost = any(self._clearly(rival.losses, np.concatenate(losses)) for rival in rivals)
        if lost:
            self._record(candidate, "given up", 1.0, models, np.concatenate(losses))
        return lost

    def sequence_of(
        self, candidate: Candidate, fold: Fold, least: int = 1, n_basis: int | None = None, factor: float = 1.0
    ) -> list[Submodel]:
        """Return a candidate's models on the training samples of ``fold``, from its first features down."""
        first = self.beginnings.first(candidate, fold, factor, n_basis)
        self.beginnings.seed(fold, "elimination", candidate.name, n_basis)
        if not self.selects:
            return [first]
        certain = self.beginnings.certain(fold)
        sequence = self._floated(first, candidate, fold, max(least, len(certain)))
        if len(certain) and not np.array_equal(sequence[-1].columns, self.units.columns(certain)):
            # As many groups are left as the screen is certain of: the better of the two models goes on.
            rival = self.beginnings.on(candidate, fold, self.units.columns(certain), factor, n_basis)
            if len(rival.columns) <= self.max_features and rival.objective < sequence[-1].objective:
                sequence[-1] = rival
        return [*sequence[:-1], *self._floated(sequence[-1], candidate, fold, least)]

    def _floated(self, first: Submodel, candidate: Candidate, fold: Fold, least: int) -> list[Submodel]:
        """Return the elimination from a model on; those of a dot-product kernel that is not linear let features enter.

        A linear path is convex and has no feature to regret; a stationary kernel begins with the features of others.
        """
        rest = (least, self.max_features, fold.rng, self.settings)
        kernel = candidate.kernel
        if not has_path(kernel) or kernel.is_linear:
            return eliminate(first, fold.train, self.units, *rest)
        return floating_elimination(first, fold.train, self.units, self.beginnings.seen(kernel, fold), *rest)

    def sequence(self, choice: Choice, fold: Fold) -> list[Submodel]:
        """Return the models of the choice on the training samples of ``fold``, from its first features down to one."""
        way = choice.guide or choice
        sequence = self.sequence_of(way.candidate, fold, 1, way.n_basis or None, way.factor)
        if choice.guide is None:
            return sequence
        models = [self._anew(choice.candidate, sequence[0].columns, fold, None, choice.factor)]
        for model in sequence[1:]:
            models.append(moved(models[-1], fold.train, model.columns, fold.rng, settings=self.settings))
        return models

    def _picked(self, choice: Choice, sequences: list[list[Submodel]]) -> Choice:
        """Return the choice among the numbers of groups that the folds' eliminations passed through."""
        counts = [[self.n_groups(model) for model in sequence] for sequence in sequences]
        offers: list[Choice] = []
        sizes = []
        for size in sorted(set().union(*counts)):
            # The largest model of each fold that has no more groups.
            places = [next((i for i, c in enumerate(of_fold) if c <= size), -1) for of_fold in counts]
            models = [sequence[i] for sequence, i in zip(sequences, places, strict=True)]
            n_columns = max(len(model.columns) for model in models)
            if offers and (n_columns > self.max_features or size > self.max_groups):
                break
            n_units = max(map(self.n_groups, models))
            offers.append(self._judged(replace(choice, n_units=n_units), "elimination", models))
            sizes.append(size)
        place = self._place(offers, np.array(sizes))
        left = [self._left_at(sequence) for sequence in sequences] if self.selects else []
        twice = next((offer for offer in offers if offer.n_units >= 2 * offers[place].n_units), offers[-1])
        return replace(offers[place], left_at=left, wider=twice.models)

    def _simplest(self, choices: list[Choice]) -> tuple[Choice, Choice | None]:
        """Return the simplest kernel as good as the best of those better than the empty model; that one if none is.

        Beside it comes the same with its best strength, where kernels were compared with theirs.
        """
        choices = self._worth_more_than_nothing(choices)
        if not choices:
            return self._empty, None
        if len(choices) == 1:
            return choices[0], None
        # Each with its own strength, but for those that are far behind.
        best = min(choices, key=self._mean).losses
        tuned = [c if self._clearly(best, c.losses) else self._with_strength(c) for c in choices]
        place = self._place(tuned, np.arange(len(tuned)))
        return choices[place], tuned[place]

    @cached_property
    def _empty(self) -> Choice:
        """The model without features."""
        first = self.racers[0]
        models = [empty_model(first, self.beginnings.allowed[:1], fold) for fold in self.folds]
        choice = Choice(first, 1.0, 0, [], np.zeros(0), is_empty=True)
        return self._judged(choice, "empty model", models)

    def _worth_more_than_nothing(self, choices: list[Choice]) -> list[Choice]:
        """Return the choices that are better than the empty model; no other may win, or make a kernel be given up."""
        return [choice for choice in choices if self._better_than_empty(choice)] if self.selects else choices

    def _clearly(self, better: np.ndarray, worse: np.ndarray) -> bool:
        """Whether held-out samples clearly prefer one model to another, by all folds or the first that both have."""
        gain, error = mean_and_error(worse - better[: len(worse)], self.validation.weight[: len(worse)])
        return bool(gain > self.settings.clearly * error)

    def _better_than_empty(self, choice: Choice) -> bool:
        """Whether held-out samples prefer a model to the empty one beyond chance: one-sided, over all kernels tried."""
        gain, error = mean_and_error(self._empty.losses - choice.losses, self.validation.weight)
        certain = [set(self.beginnings.certain(fold)) for fold in self.folds]
        # If the screens of all folds name the same feature, better at all will do.
        level = self.settings.empty_chance / len(self.racers)
        return bool(gain > (0.0 if set.intersection(*certain) else -ndtri(level)) * error)

    def _with_strength(self, choice: Choice) -> Choice:
        """Return the choice with a penalty that does as well as any on its features.

        Stronger ones are tried while the held-out loss falls, weaker ones only if no stronger one helps; each fit goes
        on from its neighbour. The strongest that is as good is taken where the kernel has a path. For other kernels it
        is the one next to the default, which was measured by accuracy: stronger ones of the same loss are less often
        right.
        """
        if not (choice.candidate.tries_strengths and choice.models[0].problem.has_strength):
            return choice
        rivals = [choice]
        strengths = sorted(self.settings.strengths)
        for side in ([s for s in strengths if s > choice.factor], [s for s in strengths[::-1] if s < choice.factor]):
            before = choice
            for factor in side:
                pairs = zip(before.models, self.folds, strict=True)
                ratio = factor / before.factor
                models = [moved(m, f.train, m.columns, f.rng, ratio, self.settings) for m, f in pairs]
                after = self._judged(replace(choice, factor=factor), "strength", models)
                rivals.append(after)
                if self._mean(after) >= self._mean(before):
                    break
                before = after
            if before is not choice:
                break
        self.on_step(f"strengths with {choice.candidate.name}")
        tried = np.array([rival.factor for rival in rivals])
        price = -tried if has_path(choice.candidate.kernel) else np.abs(np.log(tried))
        return rivals[self._place(rivals, price)]

    def _place(self, rivals: list[Choice], sizes: np.ndarray) -> int:
        """Return the place of the simplest of several choices that is as good as the best of them."""
        return self.validation.simplest([rival.losses for rival in rivals], sizes, self.settings.share)[0]

    def _mean(self, choice: Choice) -> float:
        """Return the mean held-out loss."""
        return mean_and_error(choice.losses, self.validation.weight)[0]

    def _sized(self, choice: Choice) -> Choice:
        """Return the choice with as many basis vectors as held-out samples favour."""
        if not choice.candidate.sizes:
            return choice
        if self.selects:
            return self._grown(choice)
        rivals = [choice]
        for n_basis in choice.candidate.sizes:
            pairs = zip(self.folds, choice.models, strict=True)
            models = [self._anew(choice.candidate, m.columns, fold, n_basis, choice.factor) for fold, m in pairs]
            rivals.append(self._judged(replace(choice, n_basis=n_basis), "size", models))
        self.on_step(f"numbers of vectors with {choice.candidate.name}")
        counts = np.array([rival.n_basis or choice.candidate.terms[0].n_basis for rival in rivals])
        return rivals[self._place(rivals, counts)].told_of_most()

    def _grown(self, choice: Choice) -> Choice:
        """Return the choice with more vectors, and the features sought again, if held-out samples favour them.

        A path has few vectors, which find features best; they may have no room for all of these. So vectors are added
        to the models of twice as many groups, which still hold what may have left for want of room.
        """
        best, models = choice, choice.wider
        for n_basis in choice.candidate.sizes:
            larger = []
            for fold, model in zip(self.folds, models, strict=True):
                self.beginnings.seed(fold, "size", n_basis)
                larger.append(grown(model, fold.train, n_basis, fold.rng, self.settings))
            models = larger
            rival = self._judged(replace(choice, n_basis=n_basis), "size", models)
            gain, error = mean_and_error(best.losses - rival.losses, self.validation.weight)
            if gain <= error:
                break
            best = rival
        self.on_step(f"numbers of vectors with {choice.candidate.name}")
        if best is choice:
            return choice
        n_basis = best.n_basis
        sequences = [self.sequence_of(choice.candidate, fold, 1, n_basis) for fold in self.folds]
        again = self._picked(replace(choice, n_basis=n_basis), sequences)
        return min(choice, again, key=self._mean).told_of_most()

    def refit(self, choice: Choice, fold: Fold) -> Submodel:
        """Return the model of the choice on the training samples of ``fold``: the same steps, nothing left to decide.

        Its features are those that most eliminations kept, of the folds and of these samples.
        """
        candidate = choice.candidate
        if choice.is_empty:
            return empty_model(candidate, self.beginnings.allowed[:1], fold)
        n_basis, way = choice.n_basis or None, choice.guide or choice
        sequence = self.sequence_of(way.candidate, fold, max(choice.n_units, 1), way.n_basis or None)
        columns = self._agreed(choice, sequence) if self.selects else sequence[-1].columns
        if not has_path(candidate.kernel):
            return self._anew(candidate, columns, fold, n_basis, choice.factor)
        model = min(sequence, key=lambda m: abs(self.n_groups(m) - choice.n_units))
        model = moved(model, fold.train, columns, fold.rng, choice.factor, self.settings)
        if candidate.kernel.is_linear:
            return model
        # The best of several minima: the folds' own may be better, and all samples may be seen here.
        same = [m for m in choice.models if np.array_equal(m.columns, columns)]
        others = [moved(m, fold.train, columns, fold.rng, settings=self.settings) for m in same]
        return min([model, *others], key=lambda m: m.objective)

    def columns_by_themselves(self, choice: Choice, fold: Fold) -> np.ndarray:
        """Return the features, as many groups as the choice has, that the samples of ``fold`` alone would choose."""
        if choice.is_empty:
            return np.zeros(0, dtype=int)
        way = choice.guide or choice
        return self.sequence_of(way.candidate, fold, choice.n_units, way.n_basis or None)[-1].columns

    def half_frequencies(self, choice: Choice, halves: Iterable[Fold]) -> np.ndarray:
        """Return the share of some samples by themselves, halves of all, that choose each feature, (d,)."""
        chosen = [self.columns_by_themselves(choice, half) for half in halves]
        return np.bincount(np.concatenate(chosen), minlength=len(self.units.label)) / len(chosen)

    def fold_frequencies(self, choice: Choice) -> np.ndarray:
        """Return the share of folds whose model of the chosen size holds each feature, (d,)."""
        if choice.is_empty:
            return np.zeros(len(self.units.label))
        return np.asarray(np.mean([left <= choice.n_units for left in choice.left_at], axis=0)[self.units.label])

    def _agreed(self, choice: Choice, sequence: list[Submodel]) -> np.ndarray:
        """Return the features that most eliminations kept at the chosen size; of equals those that stayed longest."""
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
        self._record(choice.candidate, stage, choice.factor, [] if choice.is_empty else models, losses)
        return replace(choice, models=models, losses=losses)

    def _record(
        self, candidate: Candidate, stage: str, factor: float, models: list[Submodel], losses: np.ndarray
    ) -> None:
        """Add models to the record; no models are the empty one."""
        sizes = [(len(model.columns), model.model.n_basis) for model in models] or [(0, 1)]
        n_features, n_basis = np.mean(sizes, axis=0).tolist()
        weight = self.validation.weight[: len(losses)]
        record = record_of(candidate.name, stage, factor, n_features, n_basis, losses, weight)
        self.validation.records.append(record)

    def _anew(
        self, candidate: Candidate, columns: np.ndarray, fold: Fold, n_basis: int | None, factor: float
    ) -> Submodel:
        """Return the candidate fitted on some features from the start."""
        self.beginnings.seed(fold, "anew", candidate.name, n_basis)
        return self.beginnings.on(candidate, fold, columns, factor, n_basis)

    def n_groups(self, model: Submodel) -> int:
        """Return the number of feature groups of a model."""
        return n_groups(model, self.units)

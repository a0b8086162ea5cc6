"""Few samples of many features: the fit takes place in the span of the samples."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from spkm.core.evidence import AnyObjective
from spkm.core.fitted import FittedModel
from spkm.core.span import inward, outward
from spkm.core.targets import Target
from spkm.fitting.continuing import continued_theta
from spkm.fitting.problems import Defaults
from spkm.fitting.recipe import Around, Fit, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.sources import ArraySource, Scaling, Source, SpanSource


class InSpan(Around):
    """More features than samples: another recipe, in coordinates of the span of the scaled samples.

    There are no more coordinates than samples, so a fit takes a small part of the time. A kernel of the Euclidean
    distance with one bandwidth has the same values there, and a linear part the same scores. At the end the vectors
    rotate back: the model is an ordinary one of all features, with the same predictions.

    **Defaults.** One bandwidth. Linear part, penalties and their strengths are those of the recipe inside: folds for
    classes, the evidence for real targets. The strength of a linear part follows the number of coordinates, and not
    that of features, which is too strong for genes and spectra. Vectors of the span may lie beyond the range of a
    feature; they are clipped there at the end, unless ``basis_bounds`` is None.
    """

    name = "span"

    def __init__(self, inner: Recipe) -> None:
        super().__init__(inner)
        self.name = "span"

    def defaults(self, spec: Spec, source: Source) -> Defaults:
        return replace(self.inner.defaults(spec, source), metric="scale")

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        inside = SpanSource.of(cast(ArraySource, source))
        return self.inner.begin(self._inside(spec, source), inside, None, target)

    def resume(
        self, spec: Spec, source: Source, scaling: Scaling | None, target: Target, previous: FittedModel
    ) -> Start:
        inside = SpanSource.of(cast(ArraySource, source))
        start = self.inner.resume(self._inside(spec, source), inside, scaling, target, previous)
        here, there = start.problem.model(inside), start.problem.model(source)

        def onward(fresh: np.ndarray) -> np.ndarray:
            whole = continued_theta(previous, there, scaling, target, outward(inside.span, here, fresh))
            return inward(inside.span, there, whole)

        return replace(start, onward=onward)

    def conclude(self, spec: Spec, fit: Fit) -> Fit:
        return self.inner.conclude(spec, self.outward(spec, fit))

    def outward(self, spec: Spec, fit: Fit) -> Fit:
        inside, found = cast(SpanSource, fit.objective.source), fit.result
        theta = outward(inside.span, fit.objective.model, found.theta)
        problem = fit.start.problem.with_vectors([term.n_basis for term in fit.objective.model.terms])
        problem = problem.continued(found.noise, found.ridge, found.linear_variance)
        if spec.basis_bounds == "data":
            problem = problem.with_bounds()
        objective: AnyObjective = problem.objective(inside.table)
        parameters = problem.parameters(objective, objective.inside(theta))
        theta = problem.completed(objective, parameters)
        result = replace(found, theta=theta, value=objective.value(parameters))
        return replace(fit, objective=objective, result=result)

    def _inside(self, spec: Spec, source: Source) -> Spec:
        """Return the parameters of the fit in coordinates."""
        linear = self.inner.defaults(spec, source).joins_linear_part(spec)
        return replace(spec, learn_bandwidth=True, basis_bounds=None, linear_part=linear)

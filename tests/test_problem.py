"""A problem: the objective it makes, copies of it with other strengths, the solver of its refits."""

import numpy as np
import pytest

from spkm.core.evidence import EvidenceObjective
from spkm.core.model import Term, View
from spkm.core.problem import LEAST_NOISE, Problem
from spkm.kernels import RBF, Linear
from spkm.losses import Log, Squared
from spkm.penalties import L1, Evidence, GroupL2, RKHSNorm, SquaredL2
from spkm.selection import fit_submodel
from spkm.sources import ArraySource
from tests import cases


def source(loss, m=1):
    return ArraySource(cases.rows(12), cases.targets(loss, 12, m))


@pytest.mark.parametrize("metric", ["fixed", "scale", "relevances"])
def test_the_objective_is_that_of_its_settings(metric):
    terms = cases.one_view(RBF(0.3), 3, metric)
    problem = Problem(terms, Log(), [SquaredL2(0.1)], [RKHSNorm(0.05)], metric_prior=0.2, fit_intercept=False)
    made = problem.objective(source(Log(), 2))
    by_hand = cases.make_objective(
        RBF(0.3),
        Log(),
        m=2,
        metric=metric,
        fit_intercept=False,
        basis_penalty=SquaredL2(0.1),
        weight_penalty=RKHSNorm(0.05),
        metric_prior=0.2,
    )
    theta = cases.random_theta(by_hand.model)
    assert made.model.n_params == by_hand.model.n_params
    assert made.value(theta) == by_hand.value(theta)
    assert not made.model.fit_intercept


def test_a_factor_multiplies_the_rkhs_norm_alone():
    problem = Problem(cases.one_view(RBF(0.3), 3, "fixed"), Log(), [SquaredL2(0.1)], [RKHSNorm(0.05), SquaredL2(0.3)])
    other = problem.with_factor(10.0)
    assert [p.strength for p in other.weight_penalties] == [0.5, 0.3]
    assert [p.strength for p in problem.weight_penalties] == [0.05, 0.3]
    assert other.basis_penalties == problem.basis_penalties
    evidence = Problem(cases.one_view(RBF(0.3), 3, "fixed"), Squared(), evidence=Evidence())
    assert evidence.with_factor(10.0) == evidence


def test_strength_and_prior_belong_to_different_penalties():
    ridge = Problem(cases.one_view(RBF(0.3), 3, "fixed"), Squared(), [], [RKHSNorm(0.1)])
    evidence = Problem(cases.one_view(RBF(0.3), 3, "relevances"), Squared(), evidence=Evidence(noise=0.4))
    assert ridge.has_strength and not evidence.has_strength
    other = evidence.with_prior(0.25).evidence
    assert other.prior == 0.25 and other.noise == 0.4 and evidence.evidence.prior == Evidence().prior
    assert ridge.with_prior(0.25) is ridge


def test_a_guess_of_the_noise_is_for_the_evidence_alone():
    problem = Problem(cases.one_view(RBF(0.3), 3, "fixed"), Squared(), evidence=Evidence(prior=5.0))
    other = problem.with_noise(0.7)
    assert other.evidence.noise == 0.7 and other.evidence.prior == 5.0
    assert problem.evidence.noise == Evidence().noise
    assert problem.with_noise(0.0).evidence.noise == LEAST_NOISE > 0
    assert problem.with_noise(None) is problem
    plain = Problem(cases.one_view(RBF(0.3), 3, "fixed"), Squared(), [], [RKHSNorm(0.1)])
    assert plain.evidence is None and plain.with_noise(0.7) is plain


@pytest.mark.parametrize(
    "problem",
    [
        Problem(cases.one_view(RBF(0.3), 3, "scale"), Squared(), [], [RKHSNorm(0.1)]),
        Problem(cases.one_view(RBF(0.3), 3, "relevances"), Squared(), evidence=Evidence()),
        Problem(cases.one_view(RBF(0.3), 3, "scale"), Log(), [], [RKHSNorm(0.1)]),
        Problem(cases.one_view(Linear(1.0), 3, "fixed"), Squared(), [], [L1(0.1)]),
        Problem(cases.one_view(Linear(1.0), 3, "fixed"), Log(), [GroupL2(0.1)], []),
    ],
)
def test_refits_of_every_kind_of_problem_go_down(problem):
    rows = source(problem.loss)
    objective = problem.objective(rows)
    theta = cases.random_theta(objective.model).copy()
    fitted = fit_submodel(problem, rows, np.arange(rows.n_features), theta, 40, np.random.default_rng(0))
    assert np.all(np.isfinite(fitted.theta))
    if problem.evidence is None:
        assert fitted.objective < objective.value(theta)
        assert fitted.objective == pytest.approx(objective.value(fitted.theta), rel=1e-6)
    else:
        assert fitted.noise != problem.evidence.noise


def test_a_problem_on_some_columns_is_that_of_its_terms_on_them():
    terms = (
        Term(2, (View(RBF(0.3), np.array([0, 2]), "scale"),)),
        Term(3, (View(Linear(0.5), np.array([1, 3])), View(RBF(0.2), np.array([0])))),
    )
    problem = Problem(terms, Squared(), weight_penalties=[RKHSNorm(0.1)])
    assert problem.n_basis == 5 and problem.on(None) == list(terms)
    columns = np.array([0, 1, 3])
    some = problem.objective(source(Squared()).columns(columns), columns)
    assert [view.columns.tolist() for _, view in some.model.views] == [[0], [1, 2], [0]]
    fewer = problem.with_vectors([0, 4])
    assert fewer.n_basis == 4 and fewer.terms[0].views == terms[1].views
    assert problem.n_basis == 5


def test_more_penalties_on_the_weights_are_beside_those_of_the_problem():
    plain = Problem(cases.one_view(RBF(0.3), 3, "fixed"), Squared(), weight_penalties=[RKHSNorm(0.1)])
    more = L1(0.2)
    assert plain.penalized(12.0, more).weight_penalties == [*plain.weight_penalties, more]
    evidence = Problem(cases.one_view(RBF(0.3), 3, "relevances"), Squared(), evidence=Evidence(noise=0.4))
    assert evidence.ranks_features and not plain.ranks_features
    other = evidence.penalized(12.0, more)
    assert other.evidence is None and not other.ranks_features
    assert other.weight_penalties[0].strength == pytest.approx(2 * 0.4 / 12) and other.weight_penalties[1] is more
    objective = other.objective(source(Squared()))
    assert cases.gradient_error(objective, cases.random_theta(objective.model)) < 1e-6


def test_an_evidence_makes_an_objective_of_its_own():
    problem = Problem(cases.one_view(RBF(0.3), 3, "relevances"), Squared(), [SquaredL2(0.1)], evidence=Evidence())
    objective = problem.objective(source(Squared(), 2))
    assert isinstance(objective, EvidenceObjective) and objective.offers == ("elimination",)
    assert objective.settings is problem.evidence and objective.basis_penalties is problem.basis_penalties
    theta = cases.random_theta(objective.model)
    phi = objective.start(theta)
    bare = EvidenceObjective(objective.model, Squared(), objective.source, [], problem.evidence)
    penalty = SquaredL2(0.1).value(objective.model.unpack(theta).basis[0])
    assert objective.value(phi) == pytest.approx(bare.value(phi) + penalty, rel=1e-12)

"""Exact explanations of fitted models: arrays and frames, no drawing."""

from spkm.explain._bars import Bars, VectorStability, vector_stability, with_uncertainty
from spkm.explain._canonical import Relation, canonical_formula, canonical_summary, relations
from spkm.explain._conditional import Normal, expected_scores
from spkm.explain._counterfactual import Counterfactual, counterfactual
from spkm.explain._edit import edited
from spkm.explain._effects import Effect, h_statistics, partial_dependence
from spkm.explain._explanation import Explanation, explain
from spkm.explain._gaps import GapPredictor, GapWorth, with_gaps
from spkm.explain._gradient import gradient
from spkm.explain._importance import Importances, importances
from spkm.explain._neighbours import EntityNeighbours, Neighbours, familiarity, nearest, nearest_entities
from spkm.explain._prove import Proof, prove
from spkm.explain._sobol import SobolIndices, sobol_indices
from spkm.explain._summary import formula, summary, to_frame

__all__ = [
    "Bars",
    "Counterfactual",
    "Effect",
    "EntityNeighbours",
    "Explanation",
    "GapPredictor",
    "GapWorth",
    "Importances",
    "Neighbours",
    "Normal",
    "Proof",
    "Relation",
    "SobolIndices",
    "VectorStability",
    "canonical_formula",
    "canonical_summary",
    "counterfactual",
    "edited",
    "expected_scores",
    "explain",
    "familiarity",
    "formula",
    "gradient",
    "h_statistics",
    "importances",
    "nearest",
    "nearest_entities",
    "partial_dependence",
    "prove",
    "relations",
    "sobol_indices",
    "summary",
    "to_frame",
    "vector_stability",
    "with_gaps",
    "with_uncertainty",
]

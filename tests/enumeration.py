"""Shapley values and interactions by all subsets of players: an oracle that only calls the prediction function."""

from itertools import combinations
from math import comb

import numpy as np


def subset_values(scores, x, background, players):
    """Return {subset: mean over the background of the scores}; players are lists of columns."""
    values = {}
    for size in range(len(players) + 1):
        for subset in combinations(range(len(players)), size):
            rows = background.copy()
            for j in subset:
                rows[:, players[j]] = x[players[j]]
            values[frozenset(subset)] = scores(rows).mean(axis=0)
    return values


def enumerated_shapley(scores, x, background, players):
    """Return Shapley values, (s, m)."""
    s = len(players)
    values = subset_values(scores, x, background, players)
    result = np.zeros((s, len(values[frozenset()])))
    for subset, value in values.items():
        for j in set(range(s)) - subset:
            result[j] += (values[subset | {j}] - value) / (s * comb(s - 1, len(subset)))
    return result


def enumerated_interactions(scores, x, background, players):
    """Return Shapley interaction indices, (s, s, m), zero on the diagonal."""
    s = len(players)
    values = subset_values(scores, x, background, players)
    result = np.zeros((s, s, len(values[frozenset()])))
    for subset, value in values.items():
        rest = sorted(set(range(s)) - subset)
        for j, k in combinations(rest, 2):
            both = values[subset | {j, k}] - values[subset | {j}] - values[subset | {k}] + value
            result[j, k] += both / ((s - 1) * comb(s - 2, len(subset)))
    return result + result.transpose(1, 0, 2)

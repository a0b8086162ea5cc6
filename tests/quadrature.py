"""Quadrature over the features of a sample that are not known, under a normal distribution."""

import numpy as np


def normal_nodes(mean, covariance, row, known, count):
    """Return samples and their weights, which sum to one: the mean over them is that over the unknown features.

    Parameters
    ----------
    mean, covariance : ndarray of shapes (d,), (d, d)
        Distribution of all features.
    row : ndarray of shape (d,)
        The sample.
    known : sequence of int
        The features whose values in ``row`` are known.
    count : int
        Nodes of the rule of Gauss and Hermite for each unknown feature.
    """
    known = np.asarray(known, dtype=int)
    free = np.setdiff1d(np.arange(len(row)), known)
    slopes = np.linalg.solve(covariance[np.ix_(known, known)], covariance[np.ix_(known, free)]).T
    middle = mean[free] + slopes @ (row[known] - mean[known])
    left = covariance[np.ix_(free, free)] - slopes @ covariance[np.ix_(known, free)]
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    mesh = np.stack(np.meshgrid(*[points] * len(free), indexing="ij"), axis=-1).reshape(-1, len(free))
    total = np.prod(np.stack(np.meshgrid(*[weights] * len(free), indexing="ij"), axis=-1), axis=-1).ravel()
    rows = np.tile(row, (len(mesh), 1))
    rows[:, free] = middle + mesh @ np.linalg.cholesky(left).T
    return rows, total / total.sum()

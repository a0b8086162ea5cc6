"""The value of a factor when every player is present with probability t, and its derivatives in single players.

A game's multilinear extension F(t_1, ..., t_s) is its mean value when player j is present with probability t_j. On the
diagonal t_j = t its derivatives give all Shapley values: phi_j is the integral of dF/dt_j over t in [0, 1], and the
interaction of j and k that of d2F/dt_j dt_k. The extension of a product over different players is the product of
the extensions, so every factor needs its own alone.

Shapes: T nodes, N pairs of a sample and a background sample, R basis vectors, s players, Q components.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.explain._structure import DotPiece, Factor, PlainPiece, ProductPiece

MOST_PLAYERS = 12  # a kernel without closed forms is enumerated over all subsets of its players
NEGLIGIBLE = 1e-14  # no subset of players can give a component that is left out more than this
SAFE = 1e-90  # factors above this may be divided by: what underflows then is far below the rounding of the result


class ProductGame:
    """Factor j is q_j where player j is absent and p_j where it is present: q_j + t (p_j - q_j) on the diagonal."""

    def __init__(self, piece: ProductPiece, present: np.ndarray, absent: np.ndarray, nodes: np.ndarray) -> None:
        used = _components_that_matter(piece.amounts, present, absent)
        self.amounts, present, absent = piece.amounts[used], present[..., used], absent[..., used]
        self.steps = present - absent  # (s, N, R, Q)
        self.factors = self.steps[:, None] * nodes[:, None, None, None]
        self.factors += absent[:, None]  # (s, T, N, R, Q)
        margin = min(nodes[0], 1 - nodes[-1])
        self.safe = bool(len(present) == 0 or np.maximum(present.min(axis=1), absent.min(axis=1)).min() * margin > SAFE)
        self.product = np.multiply.reduce(self.factors, axis=0)

    def values(self) -> np.ndarray:
        """Return F, (T, N, R)."""
        return self.product @ self.amounts

    def pullback(self, W: np.ndarray) -> np.ndarray:
        """Return sum_t W_t dF/dt_j, (s, N, R), for W (T, N, R)."""
        weighted = W[..., None] * self.amounts
        if self.safe:
            quotients = (weighted * self.product) / self.factors
            sums = quotients.sum(axis=1)
        else:
            sums = np.einsum("tnrq,stnrq->snrq", weighted, leave_one_out(self.factors))
        sums *= self.steps
        return sums.sum(axis=-1) if sums.shape[-1] > 1 else sums[..., 0]

    def derivatives(self) -> np.ndarray:
        """Return dF/dt_j, (s, T, N, R)."""
        others = self.product / self.factors if self.safe else leave_one_out(self.factors)
        return (others * self.steps[:, None]) @ self.amounts

    def second(self, W: np.ndarray) -> np.ndarray:
        """Return sum over t, N and R of W d2F/dt_j dt_k, (s, s); the diagonal means nothing."""
        s = len(self.steps)
        weighted = W[..., None] * self.amounts
        if self.safe:
            ratios = (self.steps[:, None] / self.factors).reshape(s, self.product.size)
            return (ratios * (weighted * self.product).ravel()) @ ratios.T
        result = np.zeros((s, s))
        for j in range(s):
            rest = self.factors.copy()
            rest[j] = self.steps[j]
            result[j] = np.einsum("tnrq,stnrq,snrq->s", weighted, leave_one_out(rest), self.steps, optimize=True)
        return result


class DotGame:
    """Moments of a sum of independent parts, of which part j is present with probability t.

    A state holds y^l / l!, so that with M_j(z) = sum_l E y_j^l z^l / l! the moments of the sum are the power series
    M = prod_j M_j. Exchanging part j for its step S_j (present minus absent) gives M S_j / M_j, a division of power
    series that begin with 1 and 0: no part need be left out.
    """

    def __init__(self, piece: DotPiece, present: np.ndarray, absent: np.ndarray, nodes: np.ndarray) -> None:
        orders = np.arange(len(piece.coefficients))
        scale = piece.coefficients * np.cumprod(np.maximum(orders, 1))
        present, absent = (np.ascontiguousarray(np.moveaxis(state, -1, 0)) for state in (present, absent))
        steps = present - absent  # (p + 1, s, N, R)
        t = nodes[:, None, None]
        parts = absent[:, :, None] + t * steps[:, :, None]  # (p + 1, s, T, N, R)
        total = _multiplied(parts)
        # sum_l scale_l (M q)_l = sum_m after_m q_m for any power series q
        self.after = np.stack([np.tensordot(scale[m:], total[: len(orders) - m], axes=1) for m in orders])
        self.ratios = np.zeros_like(parts)  # S_j / M_j
        for m in orders[1:]:
            self.ratios[m] = steps[m][:, None]
            for i in range(1, m):
                self.ratios[m] -= parts[i] * self.ratios[m - i]

    def values(self) -> np.ndarray:
        """Return F, (T, N, R)."""
        return self.after[0]

    def pullback(self, W: np.ndarray) -> np.ndarray:
        """Return sum_t W_t dF/dt_j, (s, N, R), for W (T, N, R)."""
        return np.einsum("mtnr,mstnr->snr", W * self.after, self.ratios)

    def derivatives(self) -> np.ndarray:
        """Return dF/dt_j, (s, T, N, R)."""
        return np.einsum("mtnr,mstnr->stnr", self.after, self.ratios)

    def second(self, W: np.ndarray) -> np.ndarray:
        """Return sum over t, N and R of W d2F/dt_j dt_k, (s, s); the diagonal means nothing."""
        count, s = self.ratios.shape[:2]
        flat = self.ratios.reshape(count, s, self.after[0].size)
        result = np.zeros((s, s))
        for m in range(1, count):
            for i in range(1, count - m):
                result += (flat[m] * (W * self.after[m + i]).ravel()) @ flat[i].T
        return result


class PlainGame:
    """All 2^s subsets of players, each evaluated by the kernel."""

    def __init__(self, piece: PlainPiece, present: np.ndarray, absent: np.ndarray, nodes: np.ndarray) -> None:
        s = len(piece.players)
        if s > MOST_PLAYERS:
            raise ValueError(
                f"Exact Shapley values of {piece.kernel_names} need all subsets of its features: at most "
                f"{MOST_PLAYERS} features or groups are possible, this model reads {s}. Select or group features, or "
                "use a kernel with closed forms (RBF, Laplacian, Matern, RationalQuadratic, Linear, Polynomial)."
            )
        self.sets = (np.arange(2**s)[:, None] >> np.arange(s)) & 1 == 1  # (2^s, s)
        self.nodes = nodes
        inside = np.isin(piece.member, piece.players)
        owner = np.where(inside, np.searchsorted(piece.players, piece.member), s)  # the last entry stands for no player
        x, b = np.broadcast_arrays(present[0], absent[0])
        self.table = np.stack([piece.values(np.where(np.append(chosen, False)[owner], x, b)) for chosen in self.sets])

    def values(self) -> np.ndarray:
        """Return F, (T, N, R)."""
        return np.tensordot(self._weights(), self.table, axes=1)

    def pullback(self, W: np.ndarray) -> np.ndarray:
        """Return sum_t W_t dF/dt_j, (s, N, R), for W (T, N, R)."""
        return np.einsum("tnr,stnr->snr", W, self.derivatives())

    def derivatives(self) -> np.ndarray:
        """Return dF/dt_j, (s, T, N, R)."""
        found = [np.tensordot(self._weights(j), self.table, axes=1) for j in range(self.sets.shape[1])]
        return np.stack(found) if found else np.zeros((0, len(self.nodes), *self.table.shape[1:]))

    def second(self, W: np.ndarray) -> np.ndarray:
        """Return sum over t, N and R of W d2F/dt_j dt_k, (s, s); the diagonal means nothing."""
        s = self.sets.shape[1]
        result = np.zeros((s, s))
        for j in range(s):
            for k in range(j):
                both = np.tensordot(self._weights(j, k), self.table, axes=1)
                result[j, k] = result[k, j] = np.sum(W * both)
        return result

    def _weights(self, *fixed: int) -> np.ndarray:
        """Return the weight of every subset in the derivative in the ``fixed`` players, (T, 2^s)."""
        free = np.setdiff1d(np.arange(self.sets.shape[1]), fixed)
        inside = self.sets[:, free].sum(axis=1)
        sign = np.prod(np.where(self.sets[:, list(fixed)], 1.0, -1.0), axis=1)
        t = self.nodes[:, None]
        return sign * t**inside * (1 - t) ** (len(free) - inside)


class SumGame:
    """Games of the same players that add up."""

    def __init__(self, games: list[Any]) -> None:
        self.games = games

    def values(self) -> np.ndarray:
        """Return F, (T, N, R)."""
        return sum(game.values() for game in self.games)

    def pullback(self, W: np.ndarray) -> np.ndarray:
        """Return sum_t W_t dF/dt_j, (s, N, R), for W (T, N, R)."""
        return sum(game.pullback(W) for game in self.games)

    def derivatives(self) -> np.ndarray:
        """Return dF/dt_j, (s, T, N, R)."""
        return sum(game.derivatives() for game in self.games)

    def second(self, W: np.ndarray) -> np.ndarray:
        """Return sum over t, N and R of W d2F/dt_j dt_k, (s, s); the diagonal means nothing."""
        return sum(game.second(W) for game in self.games)


GAMES = {ProductPiece: ProductGame, DotPiece: DotGame, PlainPiece: PlainGame}


def game_of(factor: Factor, present: list[np.ndarray], absent: list[np.ndarray], nodes: np.ndarray) -> Any:
    """Return the game of a factor from the states of its pieces where players are present and where they are not."""
    games = [GAMES[type(piece)](piece, p, a, nodes) for piece, p, a in zip(factor.pieces, present, absent, strict=True)]
    return games[0] if len(games) == 1 else SumGame(games)


def leave_one_out(factors: np.ndarray) -> np.ndarray:
    """Return prod_{k != j} factors_k along the first axis, by products from both sides: zeros do no harm."""
    result = np.ones_like(factors)
    np.cumprod(factors[:-1], axis=0, out=result[1:])
    after = np.ones_like(factors[:1])[0] if len(factors) else None
    for j in range(len(factors) - 1, -1, -1):
        result[j] *= after
        after = after * factors[j]
    return result


def _components_that_matter(amounts: np.ndarray, present: np.ndarray, absent: np.ndarray) -> Any:
    """Return which components can add more than NEGLIGIBLE: a mixture has narrow ones that are zero far from u."""
    if len(amounts) < 4:
        return slice(None)
    most = np.multiply.reduce(np.maximum(present, absent), axis=0).max(axis=(0, 1), initial=0.0)
    return np.abs(amounts) * most > NEGLIGIBLE


def _multiplied(series: np.ndarray) -> np.ndarray:
    """Return the product of power series along the second axis, of pairs, of pairs of pairs and so on."""
    if series.shape[1] == 0:
        one = np.zeros((len(series), *series.shape[2:]))
        one[0] = 1.0
        return one
    while series.shape[1] > 1:
        half = series.shape[1] // 2
        rest = series[:, 2 * half :]
        series = np.concatenate([_convolved(series[:, : 2 * half : 2], series[:, 1 : 2 * half : 2]), rest], axis=1)
    return series[:, 0]


def _convolved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of two power series, cut off at their length; coefficients along the first axis."""
    order = len(a)
    result = a[0] * b
    for l in range(1, order):  # noqa: E741
        result[l:] += a[l] * b[: order - l]
    return result

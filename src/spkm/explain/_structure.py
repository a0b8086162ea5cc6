"""A fitted model taken apart for explanations: players, and for every term factors that share no player.

A *player* is a feature, or a group of columns that count as one (the dummies of a category). A term of the model is a
product of views; views that share a player are put together, so that a term is a product of *factors* over different
players. A factor is a sum of *pieces*: mixtures of products, polynomials of an inner product, or a plain kernel of
which nothing is known but its values. All work on Z, the columns of the model on its own scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from spkm._arrays import TableLike, dense, with_shape
from spkm.core.fitted import FittedModel
from spkm.core.model import View
from spkm.kernels import DotForm, ProductForm


@dataclass(frozen=True)
class ProductPiece:
    """sum_q a_q prod_j f_qj(z_j): per view the columns, basis vectors and rates (Q, width) of the exponents."""

    players: np.ndarray
    amounts: np.ndarray
    parts: tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray], ...]
    exact_without_players = True

    @property
    def n_products(self) -> int:
        """The number of products that are added up; 1 for a piece that is no mixture."""
        return len(self.amounts)

    @property
    def degree(self) -> int:
        """The degree in t of the game's value when every player is present with probability t."""
        return len(self.players)

    def of_players(self, places: np.ndarray) -> ProductPiece:
        """Return the piece of the players at ``places`` alone: its factors are theirs."""
        parts = tuple((*part[:4], _moved(part[4], places)) for part in self.parts)
        return replace(self, players=self.players[places], parts=parts)

    @cached_property
    def rates(self) -> np.ndarray | None:
        """The rates r_q, (Q,), if the exponents of component q are r_q times those of the steepest; else None."""
        every = np.hstack([rates for part in self.parts for rates in part[2:4]])
        steepest = every[self.steepest]
        rates = every.sum(axis=1) / max(float(steepest.sum()), 1e-300)
        return rates if np.allclose(every, np.outer(rates, steepest), rtol=1e-14, atol=0.0) else None

    def common_exponents(self, Z: np.ndarray) -> np.ndarray:
        """Return -log of the factor of every player in the steepest component, (s, n, R)."""
        q = slice(self.steepest, self.steepest + 1)
        parts = tuple((*part[:2], part[2][q], part[3][q], part[4]) for part in self.parts)
        return replace(self, amounts=self.amounts[q], parts=parts).summands(Z)[..., 0]

    @property
    def steepest(self) -> int:
        """The place of the component with the largest rates."""
        return int(np.argmax(sum(part[2].sum(axis=1) + part[3].sum(axis=1) for part in self.parts)))

    @property
    def state_size(self) -> int:
        """The number of entries of the state of one sample."""
        return max(1, len(self.players)) * self.parts[0][1].shape[0] * len(self.amounts)

    def summands(self, Z: np.ndarray) -> np.ndarray:
        """Return -log of the factor of every player, (s, n, R, Q): they add up in the exponent."""
        n_basis = self.parts[0][1].shape[0]
        result = np.zeros((len(self.players), len(Z), n_basis, len(self.amounts)))
        for columns, basis, squared, absolute, local in self.parts:
            keep = local >= 0
            apart = Z.T[columns[keep]][:, :, None] - basis.T[keep][:, None, :]
            into = result if _in_order(local[keep], len(result)) else np.zeros((int(keep.sum()), *result.shape[1:]))
            if squared.any():
                into += (apart * apart)[..., None] * squared.T[keep][:, None, None, :]
            if absolute.any():
                into += np.abs(apart)[..., None] * absolute.T[keep][:, None, None, :]
            if into is not result:
                np.add.at(result, local[keep], into)
        return result

    def state(self, Z: np.ndarray, mean: bool = False) -> np.ndarray:
        """Return the factors of every player, (s, n, R, Q), or their means over the samples, (s, 1, R, Q)."""
        exponents = self.summands(Z)
        factors = np.exp(np.negative(exponents, out=exponents), out=exponents)
        return factors.mean(axis=1, keepdims=True) if mean else factors

    def left(self, total: np.ndarray) -> np.ndarray:
        """Return the left sides, (n, R, Q), from the sum of some players' summands."""
        return np.exp(-total) * self.amounts

    def right(self, total: np.ndarray) -> np.ndarray:
        """Return the right sides, (n, R, Q), from the sum of the others' summands."""
        return np.exp(-np.maximum(total, 0.0))

    def values(self, Z: np.ndarray) -> np.ndarray:
        """Return the values, (n, R)."""
        return np.exp(-self.summands(Z).sum(axis=0)) @ self.amounts


@dataclass(frozen=True)
class DotPiece:
    """sum_i c_i s^i with s the sum of one number for every player."""

    players: np.ndarray
    coefficients: np.ndarray
    columns: np.ndarray
    loadings: np.ndarray
    local: np.ndarray
    exact_without_players = True
    n_products = 1

    @property
    def degree(self) -> int:
        """The degree in t of the game's value when every player is present with probability t."""
        return min(len(self.coefficients) - 1, len(self.players))

    def of_players(self, places: np.ndarray) -> DotPiece:
        """Return the piece of the players at ``places`` alone: its inner product is theirs."""
        return replace(self, players=self.players[places], local=_moved(self.local, places))

    @property
    def state_size(self) -> int:
        """The number of entries of the state of one sample."""
        return max(1, len(self.players)) * self.loadings.shape[0] * len(self.coefficients)

    def summands(self, Z: np.ndarray) -> np.ndarray:
        """Return every player's part of the inner product, (s, n, R)."""
        keep = self.local >= 0
        parts = Z.T[self.columns[keep]][:, :, None] * self.loadings.T[keep][:, None, :]
        if _in_order(self.local[keep], len(self.players)):
            return parts
        result = np.zeros((len(self.players), len(Z), self.loadings.shape[0]))
        np.add.at(result, self.local[keep], parts)
        return result

    def state(self, Z: np.ndarray, mean: bool = False) -> np.ndarray:
        """Return y^l / l! of every player's part y, (s, n, R, p + 1), or their means over the samples."""
        found = self.left(self.summands(Z))
        return found.mean(axis=1, keepdims=True) if mean else found

    def left(self, total: np.ndarray) -> np.ndarray:
        """Return y^l / l! for l from 0 of a sum y of some players' summands, (..., p + 1)."""
        result = np.ones((*total.shape, len(self.coefficients)))
        for order in range(1, result.shape[-1]):
            result[..., order] = result[..., order - 1] * total / order
        return result

    def right(self, total: np.ndarray) -> np.ndarray:
        """Return the derivatives of order 0 to p of the polynomial at the sum of the others' summands, (..., p + 1)."""
        result, coefficients = np.empty((*total.shape, len(self.coefficients))), self.coefficients
        for order in range(result.shape[-1]):
            result[..., order] = np.polynomial.polynomial.polyval(total, coefficients)
            coefficients = np.polynomial.polynomial.polyder(coefficients)
        return result

    def values(self, Z: np.ndarray) -> np.ndarray:
        """Return the values, (n, R)."""
        return np.polynomial.polynomial.polyval(self.summands(Z).sum(axis=0), self.coefficients)


@dataclass(frozen=True)
class PlainPiece:
    """A product of views of which only the values are known."""

    players: np.ndarray
    views: tuple[Any, ...]
    member: np.ndarray  # the player of every column of Z, -1 for those of other factors
    exact_without_players = False
    n_products = 1

    @property
    def degree(self) -> int:
        """The degree in t of the game's value when every player is present with probability t."""
        return len(self.players)

    @property
    def state_size(self) -> int:
        """The number of values of one sample, for all subsets of players."""
        return 2 ** len(self.players) * self.views[0].basis.shape[0]

    def state(self, Z: np.ndarray, mean: bool = False) -> np.ndarray:
        """Return the samples themselves, (1, n, columns): the kernel has no closed form for a mean over them."""
        if mean:
            raise ValueError(
                f"independent=True needs a kernel with closed forms; {self.kernel_names} has none. "
                "Pass independent=False."
            )
        return Z[None]

    def values(self, Z: np.ndarray) -> np.ndarray:
        """Return the values, (n, R)."""
        return view_product(self.views, Z)

    @property
    def kernel_names(self) -> str:
        """The kernels, for messages."""
        return " × ".join(type(view.kernel.inner).__name__ for view in self.views)


@dataclass(frozen=True)
class Factor:
    """A sum of pieces over the same players; ``views`` are the kernels whose product it is."""

    players: np.ndarray
    pieces: tuple[Any, ...]
    views: tuple[Any, ...]

    @property
    def degree(self) -> int:
        """The largest degree of the pieces."""
        return max(piece.degree for piece in self.pieces)

    def values(self, Z: np.ndarray) -> np.ndarray:
        """Return the product of the kernels, (n, R)."""
        return view_product(self.views, Z)


@dataclass(frozen=True)
class TermParts:
    """A term: where its basis vectors stand among all, their weights (R_t, m), and its factors."""

    name: str
    rows: slice
    weights: np.ndarray
    factors: tuple[Factor, ...]

    @property
    def degree(self) -> int:
        """The degree in t of the value of the term's game."""
        return sum(factor.degree for factor in self.factors)

    def values(self, Z: np.ndarray) -> np.ndarray:
        """Return the similarities, (n, R_t)."""
        return np.asarray(np.prod([factor.values(Z) for factor in self.factors], axis=0))


@dataclass(frozen=True)
class Structure:
    """A model taken apart."""

    names: tuple[str, ...]  # of all players
    columns: tuple[np.ndarray, ...]  # of the user, of all players
    owner: np.ndarray  # the player of each of the user's columns
    read: np.ndarray  # players that the model reads
    z_players: np.ndarray  # the player of every column of Z, -1 if it is not read
    terms: tuple[TermParts, ...]
    n_basis: int

    def places(self, factor: Factor) -> np.ndarray:
        """Return the places of a factor's players among those that the model reads."""
        return np.searchsorted(self.read, factor.players)


def structure_of(model: FittedModel, names: Sequence[str], groups: Mapping[str, Any] | None = None) -> Structure:
    """Take a fitted model apart.

    Parameters
    ----------
    model : FittedModel
        The model.
    names : sequence of str
        Names of the user's columns.
    groups : dict from a name to columns, default=None
        Columns, by index or name, that count as one player; the others are players by themselves.
    """
    titles, columns = players_of(names, groups)
    owner = np.empty(len(names), dtype=int)
    for player, members in enumerate(columns):
        owner[members] = player
    is_read = np.zeros(len(names), dtype=bool)
    is_read[np.asarray(model.features_read(), dtype=int)] = True
    held = np.asarray(model.features, dtype=int)
    member = np.where(is_read[held], owner[held], -1)
    terms = tuple(
        TermParts(term.name, term.rows, np.asarray(model.weights[term.rows]), _factors(term, member))
        for term in model.terms
    )
    return Structure(titles, columns, owner, np.unique(owner[is_read]), member, terms, model.n_basis)


def players_of(
    names: Sequence[str], groups: Mapping[str, Any] | None
) -> tuple[tuple[str, ...], tuple[np.ndarray, ...]]:
    """Return names and columns of the players, in the order of their first columns."""
    place = {name: i for i, name in enumerate(names)}
    taken: dict[int, str] = {}
    found: list[tuple[int, str, np.ndarray]] = []
    for title, listed in (groups or {}).items():
        members = np.array(sorted(column_index(c, place, len(names), "groups") for c in listed), dtype=int)
        if len(members) == 0 or len(np.unique(members)) < len(members):
            raise ValueError(f"groups[{title!r}] must list at least one column, each once; got {list(listed)!r}.")
        for c in members:
            if int(c) in taken:
                raise ValueError(f"groups must not overlap; column {c} is in {taken[int(c)]!r} and in {title!r}.")
            taken[int(c)] = str(title)
        found.append((int(members[0]), str(title), members))
    found += [(c, str(names[c]), np.array([c])) for c in range(len(names)) if c not in taken]
    found.sort(key=lambda player: player[0])
    return tuple(player[1] for player in found), tuple(player[2] for player in found)


def column_index(column: Any, place: Mapping[str, int], n_features: int, argument: str) -> int:
    """Return the index of a column given by index or name."""
    if isinstance(column, str):
        if column not in place:
            raise ValueError(f"{argument} names a feature that X does not have: {column!r}.")
        return place[column]
    if isinstance(column, bool) or not isinstance(column, int | np.integer) or not 0 <= column < n_features:
        raise ValueError(f"{argument} must hold names or indices from 0 to {n_features - 1}; got {column!r}.")
    return int(column)


def view_product(views: Sequence[Any], Z: np.ndarray) -> np.ndarray:
    """Return the product of the views' kernels, (n, R)."""
    values = views[0].kernel(Z[:, views[0].columns], views[0].basis)
    for view in views[1:]:
        values = values * view.kernel(Z[:, view.columns], view.basis)
    return values


def blocks(n: int, size: int) -> Iterator[slice]:
    """Return slices of n rows, one after another, of at most ``size`` rows and at least one."""
    step = max(1, size)
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def scaled_rows(model: FittedModel, X: TableLike) -> np.ndarray:
    """Return the samples as the model gets them, dense and in double precision."""
    Z = model.scaled(with_shape(X))
    return np.asarray(dense(Z), dtype=np.float64)


def _factors(term: Any, member: np.ndarray) -> tuple[Factor, ...]:
    """Return the factors of a term: its views, those that share a player put together."""
    together: list[list[Any]] = []
    players: list[set[int]] = []
    for view in term.views:
        own = {int(p) for p in member[view.columns] if p >= 0}
        merged, rest, rest_players = [view], [], []
        for others, known in zip(together, players, strict=True):
            if own & known:
                merged, own = others + merged, own | known
            else:
                rest.append(others)
                rest_players.append(known)
        together, players = [*rest, merged], [*rest_players, own]
    sets = [np.array(sorted(own), dtype=int) for own in players]
    return tuple(
        Factor(own, _pieces(views, own, member), tuple(views)) for views, own in zip(together, sets, strict=True)
    )


def _pieces(views: list[Any], players: np.ndarray, member: np.ndarray) -> tuple[Any, ...]:
    forms = [view.kernel.forms() for view in views]
    if any(form is None for form in forms):
        return (PlainPiece(players, tuple(views), member),)
    if len(views) == 1:
        (view,) = views
        local = _local(view, players, member)
        return tuple(
            DotPiece(players, form.coefficients, view.columns, view.basis * form.rates, local)
            if isinstance(form, DotForm)
            else _merged([form], views, players, member)
            for form in forms[0]
        )
    if all(len(form) == 1 and isinstance(form[0], ProductForm) for form in forms):
        return (_merged([form[0] for form in forms], views, players, member),)
    return (PlainPiece(players, tuple(views), member),)


def _merged(forms: list[ProductForm], views: list[Any], players: np.ndarray, member: np.ndarray) -> ProductPiece:
    """Return one mixture of products of several views: a component for every choice of one from each."""
    counts = [len(form.amounts) for form in forms]
    choice = np.indices(counts).reshape(len(counts), -1)
    amounts = np.prod([form.amounts[q] for form, q in zip(forms, choice, strict=True)], axis=0)
    parts = []
    for form, view, q in zip(forms, views, choice, strict=True):
        width = (len(q), len(view.columns))
        squared, absolute = (np.broadcast_to(rates[q], width) for rates in (form.squared, form.absolute))
        parts.append((view.columns, view.basis, squared, absolute, _local(view, players, member)))
    return ProductPiece(players, amounts, tuple(parts))


def _local(view: View, players: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Return the position of every column's player among the factor's players, -1 where none reads it."""
    owner = member[view.columns]
    return np.where(owner >= 0, np.searchsorted(players, np.maximum(owner, 0)), -1)


def _moved(local: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return positions among the players at ``places``, -1 for those of other players."""
    found = np.full(int(max(local.max(initial=-1), places.max(initial=-1))) + 2, -1)
    found[places] = np.arange(len(places))
    return found[local]  # the last entry stands for -1


def _in_order(local: np.ndarray, count: int) -> bool:
    return len(local) == count and bool((local == np.arange(count)).all())

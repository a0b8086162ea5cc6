"""Kernels, losses, terms and fitted models in a model file.

A class is found by its name in a list of ours and of what the user has registered: a file cannot name any other, and
nothing is imported because a file says so.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse

from spkm import kernels, losses, penalties, solvers
from spkm._parts import Part
from spkm.cca import FittedSide, Side
from spkm.core import starts
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.core.model import PreimageModel, Term, View
from spkm.core.posterior import Posterior
from spkm.core.targets import Classes, Labels, Ordered, Real
from spkm.fitting.views import ViewUsage
from spkm.persistence._check_plain import check_plain
from spkm.persistence._container import ModelFileError, need
from spkm.persistence._plain import plain_model
from spkm.persistence._values import Reader, Writer
from spkm.sources import Scaling
from spkm.tables.read import TableLayout

PARTS: dict[str, tuple[str, ...]] = {
    "kernels": tuple(
        "RBF Matern RationalQuadratic Laplacian Linear Polynomial NormalizedPolynomial Tanimoto Rescaled Affine Sum "
        "Product".split()
    ),
    "losses": tuple(
        "Log Squared SquaredHinge SmoothHinge Exponential Cosine Huber EpsilonInsensitive Quantile Poisson "
        "Ordinal Hazard".split()
    ),
    "penalties": tuple("SquaredL2 L1 ElasticNet L1Ball GroupL2 RowL2 RKHSNorm Evidence".split()),
    "solvers": tuple("LBFGS VarPro Proximal Adam Alternating".split()),
    "starts": tuple("Rows KMeans Greedy Random".split()),
}
MODULES = {"kernels": kernels, "losses": losses, "penalties": penalties, "solvers": solvers, "starts": starts}
TARGETS = {"regression": Real, "classes": Classes, "labels": Labels, "ordered": Ordered}
MOST_GROWTH = 1000  # bytes that loading may allocate for each byte of a file
RECORDS: dict[str, Any] = {
    "View": View,
    "Term": Term,
    "ViewUsage": ViewUsage,
    "TableLayout": TableLayout,
    "Posterior": Posterior,
    "Scaling": Scaling,
    "Side": Side,
    "FittedSide": FittedSide,
}
#: Numbers that a fit has learned beside the model, as files of versions without them have them.
LEARNED: dict[str, Any] = {
    **{"noise": None, "strength": None, "linear_strength": None, "linear_variance": None},
    **{"ridge": 0.0, "refit_spread": 1.0},
}
#: Fields of records that hold finite numbers alone, and that nothing else checks.
FINITE: dict[str, tuple[str, ...]] = {"FittedSide": ("parameters", "mean", "mixing")}

#: Classes of parts by the name they have in files.
CLASSES: dict[str, Any] = {
    f"{module}.{name}": getattr(MODULES[module], name) for module, names in PARTS.items() for name in names
}


def register(part: type) -> type:
    """Let model files hold a kernel, loss, penalty, solver or start of one's own.

    The class is known in files by its module and name; whoever loads such a file registers the class before. Its
    parameters must be what files can hold: numbers, strings, arrays, lists and dicts of these, other parts.

    Parameters
    ----------
    part : class
        The class, made as in ``docs/extend.md``.

    Returns
    -------
    part : class
        The same, so that it can be used as a decorator.

    Examples
    --------
    >>> from spkm.kernels import RBF
    >>> @register
    ... class Narrow(RBF):
    ...     def profile(self, s):
    ...         return super().profile(4 * s)
    """
    if not (isinstance(part, type) and issubclass(part, Part)):
        raise TypeError(f"part must be a class of kernels, losses, penalties, solvers or starts; got {part!r}.")
    CLASSES[_name_of(part)] = part
    return part


def _name_of(part: type) -> str:
    known = next((name for name, cls in CLASSES.items() if cls is part), None)
    return known or f"{part.__module__}.{part.__qualname__}"


def write_object(writer: Writer, value: Any) -> dict[str, Any] | None:
    """Return the JSON of a part, a record, a sparse table or a fitted model; None of anything else."""
    if isinstance(value, Part):
        name = _name_of(type(value))
        if CLASSES.get(name) is not type(value):
            raise TypeError(
                f"{type(value).__name__} is a class of your own, which no model file can name. Call "
                f"spkm.persistence.register({type(value).__name__}) before you save, and before you load."
            )
        return {"$": "part", "class": name, "params": writer.write(value.get_params(deep=False))}
    for name, record in RECORDS.items():
        if type(value) is record:
            names = _field_names(value)
            return {"$": "record", "class": name, "fields": {k: writer.write(getattr(value, k)) for k in names}}
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        return {
            "$": "csr",
            "shape": [int(n) for n in csr.shape],
            "matrix": not isinstance(value, sparse.sparray),
            **{name: writer.write(getattr(csr, name)) for name in ("data", "indices", "indptr")},
        }
    return None


def _field_names(record: Any) -> list[str]:
    """Return the names of the fields of a dataclass or of a named tuple, or of its class."""
    return [field.name for field in fields(record)] if is_dataclass(record) else list(record._fields)


def read_part(reader: Reader, node: Any) -> Any:
    name, params = node.get("class"), reader.read(node.get("params"))
    if not isinstance(name, str) or name not in CLASSES:
        raise ModelFileError(
            f"The model file holds an object of the class {str(name)[:80]!r}, which is not one of this library. If it "
            "is yours, import it and call spkm.persistence.register(TheClass) first."
        )
    cls = CLASSES[name]
    need(isinstance(params, dict) and set(params) <= set(cls._get_param_names()), f"{name} has unknown parameters")
    return cls(**params)


def read_record(reader: Reader, node: Any) -> Any:
    name, values = node.get("class"), reader.read(node.get("fields"))
    need(isinstance(name, str) and name in RECORDS and isinstance(values, dict), "a record is unknown")
    record = RECORDS[name]
    names = _field_names(record)
    need(set(values) <= set(names), f"{name} has other fields")
    for field in FINITE.get(name, ()):
        need(np.isfinite(values[field]).all(), f"{name} has numbers that are none")
    return record(**values)  # a field that a later version added has its default


def read_csr(reader: Reader, node: Any) -> Any:
    data, indices, indptr = (reader.read(node.get(name)) for name in ("data", "indices", "indptr"))
    shape = node.get("shape")
    need(
        isinstance(shape, list) and len(shape) == 2 and all(type(n) is int and n >= 0 for n in shape), "a shape is none"
    )
    for part in (indices, indptr):
        need(isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind == "i", "a sparse table is none")
    need(
        isinstance(data, np.ndarray) and data.dtype.kind == "f" and data.shape == indices.shape,
        "a sparse table is none",
    )
    need(len(indptr) == shape[0] + 1 and indptr[0] == 0 and indptr[-1] == len(data), "a sparse table is cut wrong")
    need(np.all(np.diff(indptr) >= 0), "a sparse table is cut wrong")
    need(len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1]), "a sparse table has other columns")
    cls = sparse.csr_matrix if node.get("matrix") is True else sparse.csr_array
    return cls((data, indices, indptr), shape=tuple(shape))


READERS = {"part": read_part, "record": read_record, "csr": read_csr}


def write_model(writer: Writer, model: Any, names: Any) -> dict[str, Any]:
    """Return the JSON of a fitted model: its plain form, and the facts of its fit."""
    plain = plain_model(model, names, known_only=False)
    members = model.members
    rest: dict[str, Any] = {"target": _target(model.target), "members": [_rest(member) for member in members]}
    if not model.is_joint:
        rest["names"], rest["pairs"] = list(model.names), model.pairs
    return {"plain": writer.write(plain), "rest": writer.write(rest)}


def _target(target: Any) -> dict[str, Any]:
    known = {name: getattr(target, name) for name in ("task", "constant", "mean", "scale", "two_dimensional")}
    return {**known, "labels": target.labels if target.task in ("classes", "ordered") else None}


def _rest(model: FittedModel) -> dict[str, Any]:
    scaling = model.scaling
    return {
        "target": _target(model.target),
        "clip": None if scaling is None else scaling.clip,
        "middle": None if scaling is None else scaling.middle,
        "terms": list(model.model.terms),
        "log_metrics": list(model.model.unpack(model.theta).log_metric),
        "fit_intercept": bool(model.model.fit_intercept),
        "loss": model.loss,
        "asked": tuple(model.asked),
        **{name: getattr(model, name) for name in LEARNED},
        "posterior": model.posterior,
        "samples": model.samples,
        "interrupted": bool(model.interrupted),
        "selected": bool(model.selected),
        "recipe": model.recipe,
        "refits": model.refit_thetas,
    }


def read_model(reader: Reader, node: Any) -> Any:
    """Return the fitted model of its JSON, with everything checked that predictions rely on."""
    need(isinstance(node, dict), "it has no model")
    plain, rest = reader.read(node.get("plain")), reader.read(node.get("rest"))
    check_plain(plain, known_only=False)
    need(growth(plain) <= reader.size, "it is too small for the number of features it claims")
    names, members = plain["feature_names"], rest["members"]
    need(len(members) == len(plain["members"]) >= 1, "it has another number of models")
    made = [_member(a, b, plain["n_features"]) for a, b in zip(plain["members"], members, strict=True)]
    if plain["combine"] == "joint":
        need(len(made) == 1, "it has another number of models")
        model: Any = made[0]
    else:
        need(all(member.n_outputs == 1 for member in made), "its binary models have several outputs")
        need(len(rest["names"]) == len(made), "its binary models have other names")
        target = _read_target(rest["target"])
        pairs = rest["pairs"]
        count = len(made) if pairs is None else len(pairs)
        need(count == len(made), "it has another number of models")
        if pairs is None:
            need(int(target.learned.sum()) == len(made), "it has another number of models")
        else:
            k = len(target.labels)
            every = [(a, b) for a in range(k) for b in range(a + 1, k)] if k * k <= 4 * len(made) + 4 else None
            need(every is not None and np.array_equal(pairs, every), "its pairs of classes are others")
        model = ModelEnsemble(tuple(made), tuple(map(str, rest["names"])), target, pairs)
    # Exports and the light runtime must give the answers of this model.
    need(same(plain_model(model, names, known_only=False), plain), "its plain form is that of another model")
    with np.errstate(all="ignore"):  # a kernel that cannot be evaluated, of other columns say, must show now
        for view in (view for member in made for term in member.terms for view in term.views):
            values = view.kernel(np.zeros((1, len(view.columns))), view.basis)
            need(values.shape == (1, len(view.basis)), "a kernel is none")
    return model


def growth(plain: dict[str, Any]) -> float:
    """Return the size that the file of a model must have so that what loading makes of it is no surprise.

    Basis vectors have an entry for each feature of the user's table, though the file may hold few of them.
    """
    vectors = sum(len(term["weights"]) for member in plain["members"] for term in member["terms"])
    return 8 * plain["n_features"] * (1 + vectors) / MOST_GROWTH


def _is_float(array: object, ndim: int, finite: bool = True) -> bool:
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != ndim:
        return False
    return not finite or bool(np.all(np.isfinite(array)))


def _read_target(known: Any, loss: Any = None) -> Any:
    kind = TARGETS[known["task"]]
    constant, mean, scale = (known[name] for name in ("constant", "mean", "scale"))
    need(_is_float(constant, 1, finite=False) and not np.isinf(constant).any(), "its targets are none")
    need(_is_float(mean, 1) and _is_float(scale, 1) and np.all(scale > 0), "its targets are none")
    need(len(mean) == len(scale) and len(mean) in (int(np.isnan(constant).sum()), 0), "its targets are others")
    parts = (constant, mean, scale, bool(known["two_dimensional"]))
    if kind not in (Classes, Ordered):
        return kind(*parts)
    labels = known["labels"]
    need(isinstance(labels, np.ndarray) and labels.ndim == 1 and len(labels) >= 2, "it has no classes")
    if kind is Ordered:
        need(loss is not None and len(loss.thresholds) == len(labels) - 1, "it has other thresholds")
        need(len(constant) == 1 and bool(np.isnan(constant[0])), "its targets are others")
        return Ordered.of(labels, loss)
    need(len(constant) == (1 if len(labels) == 2 else len(labels)), "it has other classes")
    return Classes(*parts, labels)


def _checked_posterior(posterior: Any, model: PreimageModel, target: Any) -> Posterior | None:
    if posterior is None:
        return None
    need(isinstance(posterior, Posterior), "its variances are others")
    R, d = (model.kernel_part or model).n_basis, model.n_features
    sizes = (R, R + d)
    outputs, size, count = int(target.learned.sum()), np.size(posterior.mean), len(np.atleast_1d(posterior.centres))
    shapes = {
        "noise_variance": (outputs,),
        "total_variance": (outputs,),
        "A_inverse": (size, size),
        "mean": (size,),
        "centres": (count, d),
        "centres_inverse": (count, count),
    }
    for name, shape in shapes.items():
        array = getattr(posterior, name)
        need(_is_float(array, len(shape)), "its variances are others")
        need(array.shape == shape and size in sizes, "its variances are others")
    need(type(posterior.usual) is float and np.isfinite(posterior.usual), "its variances are others")
    return posterior


def _member(plain: dict[str, Any], rest: Any, n_features: int) -> FittedModel:
    features = plain["features"]
    terms, log_metrics = rest["terms"], rest["log_metrics"]
    need(isinstance(terms, list) and len(terms) == len(plain["terms"]), "it has other terms")
    views, width = [], len(features)
    for term, own in zip(terms, plain["terms"], strict=True):
        need(isinstance(term, Term) and isinstance(term.views, tuple), "it has other terms")
        need(type(term.n_basis) is int and term.n_basis == len(own["weights"]), "a term has another number of vectors")
        need(len(term.views) == len(own["views"]), "a term has other views")
        for view, seen in zip(term.views, own["views"], strict=True):
            need(isinstance(view, View) and isinstance(view.kernel, kernels.Kernel), "a view is none")
            columns = np.arange(width) if view.columns is None else view.columns
            need(np.array_equal(columns, seen["columns"]), "a view reads other features")
            view.kernel.check("kernel of the file")
            views.append((view, seen["basis"]))
    need(isinstance(log_metrics, list) and len(log_metrics) == len(views), "it has other bandwidths")
    model = PreimageModel(terms, width, len(plain["intercept"]), bool(rest["fit_intercept"]))
    theta, params = model.zeros()
    for k, ((view, basis), log_metric) in enumerate(zip(views, log_metrics, strict=True)):
        need(_is_float(log_metric, 1) and len(log_metric) == view.metric_size(width), "it has other bandwidths")
        params.basis[k][...] = basis
        params.log_metric[k][...] = log_metric
    params.weights[...] = np.concatenate([term["weights"] for term in plain["terms"]])
    params.intercept[...] = plain["intercept"]
    loss = rest["loss"]
    need(isinstance(loss, losses.Loss), "it has no loss")
    loss.check("loss of the file")
    asked = rest["asked"]
    need(isinstance(asked, tuple) and all(isinstance(term, Term) for term in asked), "it has other terms")
    target = _read_target(rest["target"], rest["loss"])
    need(len(target.constant) == model.n_outputs, "its targets are others")
    samples, refits = rest.get("samples"), rest.get("refits")
    of_vectors = ((model.kernel_part or model).n_basis, n_features)
    need(samples is None or (_is_float(samples, 2) and samples.shape == of_vectors), "its basis samples are others")
    is_fit = _is_float(refits, 2) and len(refits) >= 2 and refits.shape[1] == model.n_params
    need(refits is None or is_fit, "its refits are others")
    learned = {name: rest.get(name, default) for name, default in LEARNED.items()}
    for name, value in learned.items():
        number = isinstance(value, int | float | np.generic) and bool(np.isfinite(value))
        need(value is None or number, f"its {name} is none")
    return FittedModel(
        target=target,
        scaling=_read_scaling(plain["scaling"], rest, width),
        features=features,
        n_features=n_features,
        model=model,
        theta=theta,
        loss=loss,
        asked=asked,
        **learned,
        recipe=str(rest.get("recipe", "")),
        posterior=_checked_posterior(rest.get("posterior"), model, target),
        samples=samples,
        interrupted=bool(rest["interrupted"]),
        selected=bool(rest["selected"]),
        refit_thetas=refits,
    )


def _read_scaling(plain: dict[str, Any] | None, rest: Any, width: int) -> Scaling | None:
    if plain is None:
        return None
    for part in (rest["clip"], rest["middle"]):
        need(_is_float(part, 1, finite=False) and len(part) == width, "its scaling is one of other features")
        need(not np.isnan(part).any(), "its scaling is none")
    return Scaling(plain["center"], plain["scale"], rest["clip"], rest["middle"])


def same(a: Any, b: Any) -> bool:
    """Whether two values of a plain model are equal to the bit."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)

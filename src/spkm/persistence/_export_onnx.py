"""An ONNX graph of standard operators, in double precision.

Input ``X`` (n, n_features); outputs ``score``, ``similarities`` (n, R), ``contributions`` (n, R, m) and ``prediction``
of a regression, or ``label`` and, where the model has them, ``probability`` of classes and labels. The ``score`` of one
against one are its votes; ``pair_score`` has those of the pairs, which contributions add up to. The metadata of the
model has the names of the columns of ``X``, ``feature_names``, as JSON.

Behind an encoder there is an input for each column of the table that is read, (n, 1), which has the name of the column:
numbers are doubles, NaN where they are missing; categories are strings, "" where they are missing. An output that has
the name of a column has ``spkm_`` before it. A number that is infinite or, without an encoder, NaN has a score of NaN,
with a label of texts that is "" and a label of fractions that is NaN; labels of other types have no such value.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from spkm._cells import level_places
from spkm.persistence._encoding import columns_of, encoder_of, starts_of
from spkm.persistence._export import joint_weights, with_constants
from spkm.persistence._formulas import (
    bounded_exp,
    class_probabilities,
    class_votes,
    kernel_value,
    ordered_probabilities,
)
from spkm.persistence._languages import Language, Value
from spkm.persistence._plain import class_array

OPSET = 13  # the oldest that has all of it: squeeze, unsqueeze and sums with axes as inputs
ML, ML_OPSET = "ai.onnx.ml", 2  # where the operator for strings is
IR_VERSION = 8


def content(plain: dict[str, Any]) -> bytes:
    """Return the bytes of the graph of a plain model."""
    names = columns_of(plain)
    return graph_of(plain).bytes({} if names is None else {"feature_names": json.dumps(names)})


def empty_graph(taken: list[str] | tuple[str, ...] = ()) -> _Graph:
    """Return a graph without nodes; ``taken`` are names of inputs."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("Exports to ONNX need the package onnx: pip install 'spkm[onnx]'.") from error
    return _Graph(onnx, taken)


def graph_of_encoder(encoder: dict[str, Any]) -> _Graph:
    """Return the graph of an encoder alone, with the output ``encoded``."""
    graph = empty_graph(encoder["columns"])
    encoded = _encoded(graph, {"encoder": encoder, "n_features": 0})
    graph.output("encoded", encoded, graph.onnx.TensorProto.DOUBLE, 2)
    return graph


def graph_of(plain: dict[str, Any]) -> _Graph:
    """Return the graph of a plain model."""
    encoder = encoder_of(plain)
    graph = empty_graph(() if encoder is None else encoder["columns"])
    onnx = graph.onnx
    graph.X = _finite(graph, _encoded(graph, plain))
    parts = [_member(graph, member) for member in plain["members"]]
    K = parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)
    graph.output("similarities", K, onnx.TensorProto.DOUBLE, 2)
    weights, intercept = joint_weights(plain)
    each = graph.node("Unsqueeze", K, graph.constant(np.array([2])))
    graph.output("contributions", graph.node("Mul", each, graph.constant(weights)), onnx.TensorProto.DOUBLE, 3)
    whole, start = with_constants(plain, weights, intercept)
    F = graph.node("Add", graph.node("MatMul", K, graph.constant(whole)), graph.constant(start))
    if plain["combine"] == "pairs":
        graph.output("pair_score", F, onnx.TensorProto.DOUBLE, 2)
        F = _pairs(graph, plain, F)
    graph.output("score", F, onnx.TensorProto.DOUBLE, 2)
    _answers(graph, plain, F)
    return graph


class _Graph:
    """Nodes, constants and outputs, with names of their own: no name of the user's is one of the graph's."""

    def __init__(self, onnx: Any, taken: list[str] | tuple[str, ...] = ()) -> None:
        self.onnx = onnx
        self.taken = set(taken)
        self.prefix = "spkm"  # of the names inside
        while any(name.startswith(self.prefix) for name in taken):
            self.prefix += "_"
        self.nodes: list[Any] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], Any] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.X = "X"  # the numbers of the samples

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"{self.prefix}_v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: object) -> str:
        """Return the name of a constant array, which is kept once."""
        array = np.asarray(value)
        key = (array.dtype.str, array.shape, array.tobytes())
        name = f"{self.prefix}_c{len(self.constants)}"
        if array.dtype.kind == "U":
            tensor = self.onnx.helper.make_tensor(
                name,
                self.onnx.TensorProto.STRING,
                array.shape,
                [text.encode("utf-8") for text in array.ravel().tolist()],
            )
        else:
            tensor = self.onnx.numpy_helper.from_array(array, name)
        return self.constants.setdefault(key, tensor).name

    def input(self, name: str, kind: int, width: int) -> str:
        """Add an input of samples and return its name."""
        if not name or "\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
            raise ValueError(f"A column cannot be called {name!r} in ONNX: rename it.")
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, [None, width]))
        return name

    def output(self, name: str, value: str, kind: int, ndim: int) -> None:
        """Make a value an output of the graph."""
        while name in self.taken:
            name = f"spkm_{name}"
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, [None] * ndim))

    def bytes(self, metadata: dict[str, str] | None = None) -> bytes:
        """Return the graph, checked."""
        helper = self.onnx.helper
        used = {name for node in self.nodes for name in node.input}
        constants = [tensor for tensor in self.constants.values() if tensor.name in used]
        graph = helper.make_graph(self.nodes, "spkm", self.inputs, self.outputs, constants)
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain for node in self.nodes):
            opsets.append(helper.make_opsetid(ML, ML_OPSET))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="spkm")
        helper.set_model_props(model, metadata or {})
        self.onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString()


def _encoded(graph: _Graph, plain: dict[str, Any]) -> str:
    """Return the numbers of the samples, (n, n_features), from the inputs."""
    proto, encoder = graph.onnx.TensorProto, encoder_of(plain)
    if encoder is None:
        return graph.input("X", proto.DOUBLE, plain["n_features"])
    parts = []
    for j, plan, _ in starts_of(encoder):
        is_level = "levels" in plan
        cell = graph.input(encoder["columns"][j], proto.STRING if is_level else proto.DOUBLE, 1)
        parts += _codes(graph, plan, cell) if is_level else _numbers(graph, plan, cell)
    return parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)


def _finite(graph: _Graph, X: str) -> str:
    """Return numbers with NaN in place of infinite ones, which else would have the scores of large ones."""
    return graph.node("Where", graph.node("IsInf", X), graph.constant(np.nan), X)


def _numbers(graph: _Graph, plan: Any, cell: str) -> list[str]:
    absent = graph.node("IsNaN", cell)
    found = [graph.node("Where", absent, graph.constant(float(plan["fill"])), cell)] if plan["value"] else []
    return found + [graph.node("Cast", absent, to=graph.onnx.TensorProto.DOUBLE)] * plan["missing"]


def _codes(graph: _Graph, plan: Any, cell: str) -> list[str]:
    """Return the columns of a category: codes of the levels, compared with each code that has a column."""
    levels = plan["levels"]
    if "" in levels:
        raise ValueError(
            f'In ONNX "" stands for a missing string, and column {plan["column"]!r} has a level "": rename it.'
        )
    places = level_places(levels)
    width = len(levels) + plan["other"] + plan["missing"]
    for_other = len(levels) if plan["other"] else width
    for_missing = width - 1 if plan["missing"] else width
    code = graph.node(
        "LabelEncoder",
        cell,
        domain=ML,
        keys_strings=[*places, ""],
        values_int64s=[*places.values(), for_missing],
        default_int64=for_other,
    )
    is_one = graph.node("Equal", code, graph.constant(np.arange(width)[None]))
    return [graph.node("Cast", is_one, to=graph.onnx.TensorProto.DOUBLE)]


def _member(graph: _Graph, member: dict[str, Any]) -> str:
    """Return the similarities of a member, (n, R)."""
    Z = graph.node("Gather", graph.X, graph.constant(np.asarray(member["features"], dtype=np.int64)), axis=1)
    scaling = member["scaling"]
    if scaling is not None:
        Z = graph.node("Sub", Z, graph.constant(scaling["center"]))
        Z = graph.node("Div", Z, graph.constant(scaling["scale"]))
        Z = graph.node("Min", graph.node("Max", Z, graph.constant(scaling["low"])), graph.constant(scaling["high"]))
    found = []
    for term in member["terms"]:
        values = []
        for view in term["views"]:
            columns = np.asarray(view["columns"], dtype=np.int64)
            X = Z if np.array_equal(columns, np.arange(len(member["features"]))) else None
            X = X or graph.node("Gather", Z, graph.constant(columns), axis=1)
            values.append(_kernel(graph, view["kernel"], X, np.asarray(view["basis"])))
        product = values[0]
        for other in values[1:]:
            product = graph.node("Mul", product, other)
        found.append(product)
    return found[0] if len(found) == 1 else graph.node("Concat", *found, axis=1)


class _Nodes(Language):
    """Operations as nodes of the graph, on columns or on matrices."""

    KINDS = {
        **{"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "<=": "LessOrEqual", "neg": "Neg", "logistic": "Sigmoid"},
        **{name: name.capitalize() for name in ("exp", "sqrt", "pow", "min", "max", "where")},
    }

    def __init__(self, graph: _Graph) -> None:
        self.graph = graph

    def number(self, value: float) -> str:
        return self.graph.constant(float(value))

    def write(self, operation: str, *parts: str) -> str:
        return self.graph.node(self.KINDS[operation], *parts)


def _kernel(graph: _Graph, kernel: dict[str, Any], X: str, U: np.ndarray) -> str:
    """Return the values of a kernel, (n, R)."""
    do = _Nodes(graph)

    def sums(kind: str, metric: Any) -> Value:
        w = np.broadcast_to(np.asarray(metric, dtype=float), U.shape[1:]).copy()
        if kind == "uu":
            return do.value(graph.constant((np.square(U) @ w)[None]))
        if kind == "xu":
            return do.value(graph.node("MatMul", X, graph.constant((U * w).T.copy())))
        column = graph.constant(w[:, None].copy())
        if kind == "xx":
            return do.value(graph.node("MatMul", graph.node("Mul", X, X), column))
        gap = graph.node("Sub", graph.node("Unsqueeze", X, graph.constant(np.array([1]))), graph.constant(U))
        gap = graph.node("Abs", gap) if kind == "sizes" else graph.node("Mul", gap, gap)
        return do.value(graph.node("Squeeze", graph.node("MatMul", gap, column), graph.constant(np.array([2]))))

    return kernel_value(do, kernel, sums).code


def _pairs(graph: _Graph, plain: dict[str, Any], F: str) -> str:
    """Return the votes of one against one from the scores of its pairs; probabilities become an output."""
    do, n = _Nodes(graph), len(plain["classes"])
    P = do.logistic(do.value(F) * plain["steepness"]).code
    shares = [do.value(graph.node("Gather", P, graph.constant(np.array([k])), axis=1)) for k in range(n * (n - 1) // 2)]
    p = class_probabilities(do, shares, n)
    if plain["probabilities"] is not None:
        graph.output("probability", _beside(graph, p), graph.onnx.TensorProto.DOUBLE, 2)
    return _beside(graph, class_votes(shares, p))


def _beside(graph: _Graph, columns: list[Value]) -> str:
    """Return columns side by side."""
    return graph.node("Concat", *(column.code for column in columns), axis=1)


def _answers(graph: _Graph, plain: dict[str, Any], F: str) -> None:
    proto, do = graph.onnx.TensorProto, _Nodes(graph)
    scores = do.value(F)
    if plain["task"] == "regression":
        value = bounded_exp(do, scores).code if plain["link"] == "exp" else F
        graph.output("prediction", value, proto.DOUBLE, 2)
        if plain.get("survival") is not None:
            hazard = do.value(graph.constant(-np.asarray(plain["survival"]["hazard"], dtype=float)[None]))
            graph.output("survival", do.exp(bounded_exp(do, scores) * hazard).code, proto.DOUBLE, 2)
        return
    probability = {
        "logistic": lambda: graph.node("Sigmoid", graph.node("Concat", graph.node("Neg", F), F, axis=1)),
        "softmax": lambda: graph.node("Softmax", F, axis=1),
        "ordered": lambda: _beside(graph, ordered_probabilities(do, plain, scores)),
        "each": lambda: graph.node("Sigmoid", F),
        "normalized": lambda: _normalized(graph, F),
    }
    if plain["probabilities"] in probability:  # those of pairs are there already
        graph.output("probability", probability[plain["probabilities"]](), proto.DOUBLE, 2)
    positive = graph.node("Greater", F, graph.constant(0.0))
    if plain["task"] == "labels":
        graph.output("label", graph.node("Cast", positive, to=proto.INT64), proto.INT64, 2)
        return
    graph.output("label", *_labels(graph, plain, F, positive), 1)


def _normalized(graph: _Graph, F: str) -> str:
    """Return logistic functions over their sum, by logarithms: Sigmoid of onnxruntime is zero below -37."""
    far = graph.node("Exp", graph.node("Neg", graph.node("Abs", F)))
    logarithm = graph.node("Log", graph.node("Add", far, graph.constant(1.0)))
    shares = graph.node("Sub", graph.node("Min", F, graph.constant(0.0)), logarithm)
    least = graph.constant(float(np.log(np.finfo(float).tiny)))
    return graph.node("Softmax", graph.node("Max", shares, least), axis=1)


def _labels(graph: _Graph, plain: dict[str, Any], F: str, positive: str) -> tuple[str, int]:
    """Return the label of every sample, and its type."""
    proto, labels = graph.onnx.TensorProto, class_array(plain["classes"])
    known = {"U": proto.STRING, "i": proto.INT64, "f": proto.DOUBLE, "b": proto.BOOL}
    if labels.dtype.kind not in known:
        raise ValueError(f"ONNX has no type for the classes {plain['classes']}.")
    one = graph.constant(np.array([1]))
    if plain["task"] == "ordered":
        passed = graph.node("GreaterOrEqual", F, graph.constant(np.asarray(plain["cuts"], dtype=float)[None]))
        code = graph.node("ReduceSum", graph.node("Cast", passed, to=proto.INT64), one, keepdims=0)
    elif plain["two_dimensional"]:
        code = graph.node("ArgMax", F, axis=1, keepdims=0)
    else:
        code = graph.node("Squeeze", graph.node("Cast", positive, to=proto.INT64), one)
    unknown: dict[str, Any] = {"U": "", "f": np.nan}
    if labels.dtype.kind in unknown:
        total = graph.node("ReduceSum", F, one, keepdims=0)
        code = graph.node("Where", graph.node("IsNaN", total), graph.constant(len(labels)), code)
        labels = np.append(labels, unknown[labels.dtype.kind])
    return graph.node("Gather", graph.constant(labels), code), known[labels.dtype.kind]

"""An ONNX graph of standard operators, in double precision.

Input ``X`` (n, n_features); outputs ``score``, ``similarities`` (n, R), ``contributions`` (n, R, m) and ``prediction``
of a regression, or ``label`` and, where the model has them, ``probability`` of classes and labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.persistence._export import joint_weights, with_constants

OPSET = 13  # the oldest that knows all of it: squeeze, unsqueeze and sums with axes as inputs
IR_VERSION = 8


def content(plain: dict[str, Any]) -> bytes:
    """Return the bytes of the graph of a plain model."""
    if plain["combine"] == "pairs":
        raise ValueError(
            "ONNX has no standard operator that solves a linear system, as the probabilities of one against one need. "
            "Fit with multi_class='ovr' or 'joint', or export to another format."
        )
    try:
        import onnx
    except ImportError as error:
        raise ImportError("Exports to ONNX need the package onnx: pip install 'spkm[onnx]'.") from error
    graph = _Graph(onnx)
    parts = [_member(graph, member) for member in plain["members"]]
    K = parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)
    graph.output("similarities", K, onnx.TensorProto.DOUBLE, 2)
    weights, intercept = joint_weights(plain)
    each = graph.node("Unsqueeze", K, graph.constant(np.array([2])))
    graph.output("contributions", graph.node("Mul", each, graph.constant(weights)), onnx.TensorProto.DOUBLE, 3)
    whole, start = with_constants(plain, weights, intercept)
    F = graph.node("Add", graph.node("MatMul", K, graph.constant(whole)), graph.constant(start))
    graph.output("score", F, onnx.TensorProto.DOUBLE, 2)
    _answers(graph, plain, F)
    return graph.bytes(plain)


class _Graph:
    """Nodes, constants and outputs, with names of their own: no name of the user's is one of the graph's."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], Any] = {}
        self.outputs: list[Any] = []

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Return the name of a constant array, which is kept once."""
        array = np.asarray(value)
        key = (array.dtype.str, array.shape, array.tobytes())
        if array.dtype.kind == "U":
            tensor = self.onnx.helper.make_tensor(
                f"c{len(self.constants)}",
                self.onnx.TensorProto.STRING,
                array.shape,
                [text.encode("utf-8") for text in array.ravel().tolist()],
            )
        else:
            tensor = self.onnx.numpy_helper.from_array(array, f"c{len(self.constants)}")
        return self.constants.setdefault(key, tensor).name

    def output(self, name: str, value: str, kind: int, ndim: int) -> None:
        """Make a value an output of the graph."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, [None] * ndim))

    def bytes(self, plain: dict[str, Any]) -> bytes:
        """Return the graph, checked."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        X = helper.make_tensor_value_info("X", double, [None, plain["n_features"]])
        graph = helper.make_graph(self.nodes, "spkm", [X], self.outputs, list(self.constants.values()))
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="spkm"
        )
        self.onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString()


def _member(graph: _Graph, member: Any) -> str:
    """Return the similarities of a member, (n, R)."""
    Z = graph.node("Gather", "X", graph.constant(np.asarray(member["features"], dtype=np.int64)), axis=1)
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


def _kernel(graph: _Graph, kernel: Any, X: str, U: np.ndarray) -> str:
    kind = kernel["name"]
    if kind == "affine":
        scaled = graph.node("Mul", _kernel(graph, kernel["kernel"], X, U), graph.constant(kernel["scale"]))
        return graph.node("Add", scaled, graph.constant(kernel["shift"]))
    if kind in ("sum", "product"):
        parts = [_kernel(graph, kernel[part], X, U) for part in ("left", "right")]
        return graph.node("Add" if kind == "sum" else "Mul", *parts)
    w = np.broadcast_to(np.asarray(kernel["metric"], dtype=float), U.shape[1:]).copy()
    if kind in ("rbf", "matern", "rational_quadratic", "laplacian"):
        return _profile(graph, kernel, _distances(graph, X, U, w, kind == "laplacian"))
    dot = graph.node("MatMul", X, graph.constant((U * w).T.copy()))
    if kind == "linear":
        return dot
    xx = graph.node("MatMul", graph.node("Mul", X, X), graph.constant(w[:, None].copy()))
    uu = np.square(U) @ w
    if kind == "tanimoto":
        union = graph.node("Sub", graph.node("Add", xx, graph.constant(uu)), dot)
        positive = graph.node("Greater", union, graph.constant(0.0))
        return graph.node("Div", dot, graph.node("Where", positive, union, graph.constant(1.0)))
    q = kernel["coef0"]
    base = graph.node("Add", dot, graph.constant(q))
    if kind == "normalized_polynomial":
        norms = graph.node("Mul", graph.node("Add", xx, graph.constant(q)), graph.constant(uu + q))
        base = graph.node("Div", base, graph.node("Sqrt", norms))
    result = base
    for _ in range(kernel["degree"] - 1):
        result = graph.node("Mul", result, base)
    return result


def _distances(graph: _Graph, X: str, U: np.ndarray, w: np.ndarray, blocks: bool) -> str:
    """Return sums of weighted differences, (n, R): squares or, of city blocks, sizes."""
    gap = graph.node("Sub", graph.node("Unsqueeze", X, graph.constant(np.array([1]))), graph.constant(U))
    gap = graph.node("Abs", gap) if blocks else graph.node("Mul", gap, gap)
    return graph.node(
        "Squeeze", graph.node("MatMul", gap, graph.constant(w[:, None].copy())), graph.constant(np.array([2]))
    )


def _profile(graph: _Graph, kernel: Any, s: str) -> str:
    if kernel["name"] in ("rbf", "laplacian"):
        return graph.node("Exp", graph.node("Neg", s))
    if kernel["name"] == "rational_quadratic":
        base = graph.node("Add", graph.node("Div", s, graph.constant(kernel["alpha"])), graph.constant(1.0))
        return graph.node("Pow", base, graph.constant(-kernel["alpha"]))
    q = graph.node("Mul", s, graph.constant(4 * kernel["nu"]))
    root = graph.node("Sqrt", q)
    polynomial = graph.node("Add", root, graph.constant(1.0))
    if kernel["nu"] != 1.5:
        polynomial = graph.node("Add", polynomial, graph.node("Div", q, graph.constant(3.0)))
    return graph.node("Mul", polynomial, graph.node("Exp", graph.node("Neg", root)))


def _answers(graph: _Graph, plain: dict[str, Any], F: str) -> None:
    proto, kind = graph.onnx.TensorProto, plain["probabilities"]
    if plain["task"] == "regression":
        value = graph.node("Exp", graph.node("Min", F, graph.constant(30.0))) if plain["link"] == "exp" else F
        graph.output("prediction", value, proto.DOUBLE, 2)
        return
    if kind == "logistic":
        both = graph.node("Concat", graph.node("Neg", F), F, axis=1)
        graph.output("probability", graph.node("Sigmoid", both), proto.DOUBLE, 2)
    elif kind == "softmax":
        graph.output("probability", graph.node("Softmax", F, axis=1), proto.DOUBLE, 2)
    elif kind is not None:
        shares = graph.node("Sigmoid", F)
        if kind == "normalized":
            shares = graph.node("Max", shares, graph.constant(np.finfo(float).tiny))
            total = graph.node("ReduceSum", shares, graph.constant(np.array([1])), keepdims=1)
            shares = graph.node("Div", shares, total)
        graph.output("probability", shares, proto.DOUBLE, 2)
    positive = graph.node("Greater", F, graph.constant(0.0))
    if plain["task"] == "labels":
        graph.output("label", graph.node("Cast", positive, to=proto.INT64), proto.INT64, 2)
        return
    labels = np.array(plain["classes"])
    if plain["two_dimensional"]:
        code = graph.node("ArgMax", F, axis=1, keepdims=0)
    else:
        code = graph.node("Squeeze", graph.node("Cast", positive, to=proto.INT64), graph.constant(np.array([1])))
    known = {"U": proto.STRING, "i": proto.INT64, "f": proto.DOUBLE, "b": proto.BOOL}
    if labels.dtype.kind not in known:
        raise ValueError(f"ONNX has no type for the classes {plain['classes']}.")
    graph.output("label", graph.node("Gather", graph.constant(labels), code), known[labels.dtype.kind], 1)

"""Converters of our estimators for skl2onnx, so that whole pipelines of scikit-learn become ONNX graphs.

A converter puts the graph that :func:`spkm.persistence.export` would write into that of the pipeline, in double
precision inside; its outputs have the precision of the pipeline's inputs, as skl2onnx has it everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from spkm.estimators import (
    SPKMClassifier,
    SPKMClassifierCV,
    SPKMNystroem,
    SPKMOrdinalClassifier,
    SPKMRegressor,
    SPKMRegressorCV,
    SPKMSelector,
    SPKMSurvival,
)
from spkm.persistence._encoding import starts_of
from spkm.persistence._export import plain_of
from spkm.persistence._export_onnx import OPSET, graph_of, graph_of_encoder
from spkm.persistence._pipelines import plain_encoder
from spkm.persistence._plain import plain_model
from spkm.tables import TableEncoder

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def register_skl2onnx() -> None:
    """Register our estimators with skl2onnx: from then on it converts pipelines that they are steps of.

    Classifiers, regressors, their searches, :class:`spkm.SPKMSurvival` (its log hazard), :class:`spkm.SPKMSelector`,
    :class:`spkm.SPKMNystroem` and :class:`spkm.TableEncoder` are registered. It may be called often.

    Raises
    ------
    ImportError
        If skl2onnx is not installed: ``pip install 'spkm[onnx]'``.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError("Converting pipelines needs the package skl2onnx: pip install 'spkm[onnx]'.") from error
    for cls in (SPKMClassifier, SPKMClassifierCV, SPKMOrdinalClassifier):
        options = {
            "zipmap": [True, False, "columns"],
            "raw_scores": [True, False],
            "nocl": [True, False],
            "output_class_labels": [False, True],
        }
        update_registered_converter(cls, f"Spkm{cls.__name__}", _shape_of_classes, _convert_classes, options=options)
    for kind in (SPKMRegressor, SPKMRegressorCV, SPKMSurvival):
        update_registered_converter(
            kind, f"Spkm{kind.__name__}", _shape(lambda one: one.model_.n_outputs or 1), _convert_numbers
        )
    for step, width, convert in (
        (SPKMSelector, lambda one: int(one.get_support().sum()), _convert_selector),
        (SPKMNystroem, lambda one: one.normalization_.shape[1], _convert_landmarks),
        (TableEncoder, lambda one: len(one.feature_origin_), _convert_encoder),
    ):
        update_registered_converter(step, f"Spkm{step.__name__.removeprefix('SPKM')}", _shape(width), convert)


# Shapes of the outputs


def _shape(width: Callable[[Any], int]) -> Callable[[Any], None]:
    def shape(operator: Any) -> None:
        operator.outputs[0].type = _real(operator)([_n_rows(operator), width(operator.raw_operator)])

    return shape


def _shape_of_classes(operator: Any) -> None:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    estimator, n = operator.raw_operator, _n_rows(operator)
    if estimator.model_.target.task == "labels":
        raise ValueError("skl2onnx has no place for several labels of a sample: use estimator.export('model.onnx').")
    kind = np.asarray(estimator.classes_).dtype.kind
    if kind not in "OUiub":
        raise ValueError(f"skl2onnx takes classes that are texts or integers; got {estimator.classes_!r}.")
    operator.outputs[0].type = StringTensorType([n]) if kind in "OU" else Int64TensorType([n])
    width = len(estimator.classes_)
    if _gives_scores(estimator, operator) and not estimator.model_.target.two_dimensional:
        width = 1
    operator.outputs[1].type = _real(operator)([n, width])


def _gives_scores(estimator: BaseEstimator, operator: Any) -> bool:
    """Whether the second output has scores: where they are asked for, or the loss gives no probabilities."""
    options = operator.scope_inst.get_options(estimator, {"raw_scores": False})
    # A loss may have no probabilities.
    return bool(options.get("raw_scores")) or not hasattr(estimator, "predict_proba")


def _n_rows(operator: Any) -> Any:
    return operator.inputs[0].get_first_dimension()


def _real(operator: Any) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    doubles = any(isinstance(one.type, DoubleTensorType) for one in operator.inputs)
    return DoubleTensorType if doubles else FloatTensorType


# Converters


def _convert_classes(scope: Any, operator: Any, container: Any) -> None:
    estimator = operator.raw_operator
    second = "score" if _gives_scores(estimator, operator) else "probability"
    outputs = {"label": operator.outputs[0], second: operator.outputs[1]}
    _embed(scope, operator, container, graph_of(plain_of(estimator)), outputs)


def _convert_numbers(scope: Any, operator: Any, container: Any) -> None:
    graph = graph_of(plain_of(operator.raw_operator))
    _embed(scope, operator, container, graph, {"prediction": operator.outputs[0]})


def _convert_landmarks(scope: Any, operator: Any, container: Any) -> None:
    estimator = operator.raw_operator
    graph = graph_of(plain_model(estimator.model_))
    product = graph.node("MatMul", "similarities", graph.constant(estimator.normalization_.astype(float)))
    graph.output("components", product, graph.onnx.TensorProto.DOUBLE, 2)
    _embed(scope, operator, container, graph, {"components": operator.outputs[0]})


def _convert_selector(scope: Any, operator: Any, container: Any) -> None:
    from spkm.persistence._export_onnx import empty_graph

    graph = empty_graph()
    kept = graph.constant(operator.raw_operator.get_support(indices=True).astype(np.int64))
    graph.output("kept", graph.node("Gather", "X", kept, axis=1), graph.onnx.TensorProto.DOUBLE, 2)
    _embed(scope, operator, container, graph, {"kept": operator.outputs[0]})


def _convert_encoder(scope: Any, operator: Any, container: Any) -> None:
    encoder = plain_encoder(operator.raw_operator)
    if len(operator.inputs) != len(encoder["columns"]):
        raise ValueError(
            f"A TableEncoder is converted with an input for each of its {len(encoder['columns'])} columns, of shape "
            f"[None, 1]; got {len(operator.inputs)} inputs."
        )
    graph = graph_of_encoder(encoder)
    given, inputs = {}, _in_order(operator.inputs, encoder["columns"])
    for j, plan, _ in starts_of(encoder):
        column = encoder["columns"][j]
        given[column] = _cell(scope, container, inputs[j], "levels" in plan, column)
    _embed(scope, operator, container, graph, {"encoded": operator.outputs[0]}, given)


def _in_order(inputs: list[Any], columns: list[str]) -> list[Any]:
    """Return the inputs in the order of the columns: as they come, or by name if they have these in another order."""
    names = [one.raw_name for one in inputs]
    if all(name == column or name not in columns for name, column in zip(names, columns, strict=True)):
        return inputs  # skl2onnx changes names that are no code
    if set(names) == set(columns):
        return [inputs[names.index(column)] for column in columns]
    raise ValueError(
        f"The inputs of a TableEncoder must be its columns, {columns}, in this order or with these names; got {names}."
    )


def _cell(scope: Any, container: Any, variable: Any, is_level: bool, column: str) -> str:
    """Return a column of the table as the encoder's graph takes it: doubles, or texts."""
    from onnx import TensorProto
    from skl2onnx.common.data_types import BooleanTensorType, Int64TensorType, StringTensorType

    if is_level:
        if isinstance(variable.type, StringTensorType):
            return variable.full_name
        if isinstance(variable.type, Int64TensorType):
            return _cast(scope, container, variable.full_name, TensorProto.STRING)
        raise ValueError(
            f'Column {column!r} is a category: its input must be a StringTensorType, "" where a value is missing, or '
            f"an Int64TensorType; got {type(variable.type).__name__}."
        )
    if isinstance(variable.type, StringTensorType):
        what = BooleanTensorType.__name__
        raise ValueError(f"Column {column!r} must be an input of numbers, or a {what}; got texts.")
    return _cast(scope, container, variable.full_name, TensorProto.DOUBLE)


def _embed(scope: Any, operator: Any, container: Any, graph: Any, outputs: dict[str, Any], given: Any = None) -> None:
    """Put a graph of ours into a container, without the nodes that its outputs do not need."""
    from onnx import TensorProto, helper

    if container.target_opset < OPSET:
        raise ValueError(f"target_opset must be at least {OPSET} for our estimators; got {container.target_opset}.")
    names = dict(given or {})
    if given is None:
        parts = [_cast(scope, container, one.full_name, TensorProto.DOUBLE) for one in operator.inputs]
        names["X"] = parts[0] if len(parts) == 1 else _joined(scope, container, parts)
    needed, nodes = set(outputs), list[Any]()
    for node in reversed(graph.nodes):
        if set(node.output) & needed:
            needed |= set(node.input)
            nodes.insert(0, node)
    for tensor in graph.constants.values():
        if tensor.name in needed:
            names[tensor.name] = scope.get_unique_variable_name("spkm_constant")
            copied = type(tensor)()
            copied.CopyFrom(tensor)
            copied.name = names[tensor.name]
            container.initializers.append(copied)
    for node in nodes:
        for name in node.output:
            names[name] = scope.get_unique_variable_name("spkm")
        container.add_node(
            node.op_type,
            [names[name] for name in node.input],
            [names[name] for name in node.output],
            op_domain=node.domain,
            op_version=2 if node.domain else OPSET,
            name=scope.get_unique_operator_name("spkm"),
            **{one.name: helper.get_attribute_value(one) for one in node.attribute},
        )
    for name, variable in outputs.items():
        # Sequences have no type of elements.
        kind = variable.type._get_element_onnx_type() if hasattr(variable.type, "_get_element_onnx_type") else None
        _cast(scope, container, names[name], kind, variable.full_name)


def _cast(scope: Any, container: Any, name: str, kind: Any, to: str | None = None) -> str:
    found = to or scope.get_unique_variable_name("spkm_cast")
    container.add_node("Cast", [name], [found], op_version=OPSET, name=scope.get_unique_operator_name("spkm"), to=kind)
    return found


def _joined(scope: Any, container: Any, parts: list[str]) -> str:
    found = scope.get_unique_variable_name("spkm_joined")
    container.add_node("Concat", parts, [found], op_version=OPSET, name=scope.get_unique_operator_name("spkm"), axis=1)
    return found

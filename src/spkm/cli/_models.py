"""Model files: the one place of the command where models are written and read."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spkm._publish import feature_names
from spkm.cli._command import MODEL_FILE, CommandError
from spkm.cli._output import notes, replacing
from spkm.cli._reading import Known, data_error, kind_of_name

if TYPE_CHECKING:
    from pandas import DataFrame
    from sklearn.base import BaseEstimator
    from sklearn.pipeline import Pipeline

    from spkm._arrays import TableLike


def persistence() -> Any:
    """Return the module that writes and reads model files, or end with the reason why there is none."""
    try:
        return import_module("spkm.persistence")
    except ModuleNotFoundError as error:
        if error.name != "spkm.persistence":
            raise
        raise CommandError(
            "this version of spkm has no model files (spkm.persistence). Leave out -o, or install a later version.",
            exit_code=1,
        ) from None


def write_model(pipeline: Pipeline, path: str, about: dict[str, Any], data: TableLike | None = None) -> None:
    """Write a fitted pipeline to a model file, with numbers and texts about it, and a summary of the samples."""
    save = persistence().save
    with replacing(path) as temporary, notes():
        save(pipeline, temporary, data=data, metrics=about)


def read_saved(path: str) -> Any:
    """Return what a model file holds; a file that is none ends the command with exit code 4."""
    module = persistence()
    if not Path(path).is_file():
        raise CommandError(f"there is no model file {path!r}.", exit_code=MODEL_FILE)
    try:
        return module.load(path)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # whatever a damaged file leads to
        swapped = " The model comes first, then the samples." if kind_of_name(path) else ""
        raise CommandError(
            f"{path} is no model file that can be read: {error}{swapped}", exit_code=MODEL_FILE
        ) from error


def read_model(path: str) -> Any:
    """Return the fitted estimator or pipeline of a file, a model of one table, or end with what the file holds."""
    model = read_saved(path)
    last = estimator_of(model)
    if is_of_two_tables(last):
        raise CommandError(
            f"{path} holds an SPKMCCA, a model of two tables, for `spkm inspect`, `spkm report --with` and `spkm "
            "export --side`. In Python, spkm.load(file).side('x').save(other) makes a model of one table.",
            exit_code=MODEL_FILE,
        )
    if not ("selected_features_" in vars(last) and hasattr(last, "predict")):  # a selector predicts nothing
        raise CommandError(f"{path} holds no fitted model of one table.", exit_code=MODEL_FILE)
    return model


def is_of_two_tables(model: BaseEstimator) -> bool:
    """Whether a model is of two tables at once."""
    return "x_side_" in vars(model)


def read_two_tables(path: str, option: str) -> Any:
    """Return the fitted SPKMCCA of a file, which an option is for."""
    model = read_saved(path)
    if not is_of_two_tables(model):
        raise CommandError(f"{option} is for a model of two tables (SPKMCCA); {path} holds a model of one.")
    return model


def about_model(path: str) -> dict[str, Any]:
    """Return the numbers and texts that a file holds about its model."""
    return persistence().describe(path).get("metrics") or {}


def estimator_of(model: BaseEstimator) -> Any:
    """Return the estimator at the end of a pipeline, or the model itself."""
    from spkm.tables.pipelines import last_of

    return last_of(model)


def encoder_of(model: BaseEstimator) -> Any:
    """Return the TableEncoder of a pipeline, or None."""
    encoding = _encoding_of(model)
    return None if encoding is None else encoding.encoder


def _encoding_of(model: BaseEstimator) -> Any:
    from spkm.tables.pipelines import encoding_of, steps_of

    return encoding_of(steps_of(model)[:-1])


def places_of(model: BaseEstimator) -> Any:
    """Return where the features of the estimator at the end are in what the encoder returns; None without one."""
    encoding = _encoding_of(model)
    return None if encoding is None else encoding.kept


def encoded(model: BaseEstimator, frame: DataFrame) -> Any:
    """Return the samples as the estimator at the end gets them."""
    from spkm.tables.pipelines import before_last

    return before_last(model, frame)


def readable(model: BaseEstimator, frame: DataFrame, path: str) -> Any:
    """Return the samples of a file as :func:`encoded` does; cells that are not as in the fit end the command."""
    try:
        return encoded(model, frame)
    except (TypeError, ValueError) as error:
        raise data_error(f"{path}: {error}") from error


def known_columns(*models: BaseEstimator) -> Known:
    """Return the columns of models, and those of categories.

    Levels must not be taken for numbers in some chunks and not in others.
    """
    plans = [plan for encoder in map(encoder_of, models) if encoder is not None for plan in encoder.plans_]
    texts = tuple(dict.fromkeys(plan.column for plan in plans if plan is not None and plan.kind == "category"))
    names = [name for model in models for name in (() if feature_names(model) is None else feature_names(model))]
    return Known(texts, tuple(dict.fromkeys(map(str, names))))


def is_classes(model: BaseEstimator) -> bool:
    """Whether a model predicts classes."""
    return "classes_" in vars(estimator_of(model))


def task_of(model: BaseEstimator) -> str:
    """Return the task of a model: "classes", "numbers", "ordered" or "times"."""
    estimator = estimator_of(model)
    if "baseline_hazard_" in vars(estimator):
        return "times"
    if estimator.model_.target.task == "ordered":
        return "ordered"
    return "classes" if is_classes(model) else "numbers"


def truths_of(model: BaseEstimator, frame: DataFrame, target: Any, group: str | None = None) -> Any:
    """Return the samples of a file whose targets are those of a model, or end with what is wrong with them."""
    from spkm.cli._samples import as_labels, samples_of

    task = task_of(model)
    if (task == "times") != (not isinstance(target, str)):
        needed = "--time and --event" if task == "times" else "--target"
        raise CommandError(f"the model predicts {task}: name the true values by {needed}.")
    plain = "classes" if task == "ordered" else task  # labels as they are: the model has their order
    found = samples_of(frame, target, [], group, plain, to_learn=False)
    if not is_classes(model):
        return found
    labels = estimator_of(model).classes_
    order = labels if task == "ordered" else None
    return replace(found, y=as_labels(found.y, labels), task=task, order=order)


def kernel_name(kernel: Any) -> str:
    """Return what a kernel is called, without the numbers that were learned."""
    if isinstance(kernel, dict):
        return ", ".join(f"{name}: {kernel_name(one)}" for name, one in kernel.items())
    params = {} if kernel is None else kernel.get_params(deep=False)
    inner = params.get("kernel")
    if inner is None or "factor" in params:  # factors are learned
        return type(kernel if inner is None else inner).__name__
    return f"{type(kernel).__name__}({kernel_name(inner)})"


def facts(model: BaseEstimator, path: str | None = None) -> dict[str, Any]:
    """Return the facts of a model that need no data."""
    from spkm.explain._table import basis_labels

    estimator, encoder = estimator_of(model), encoder_of(model)
    fitted = estimator.model_
    labels = basis_labels(fitted)
    read = [int(j) for j in estimator.selected_features_]
    if encoder is not None:
        read = [int(j) for j in places_of(model)[read]]
    names = feature_names(estimator) if encoder is None else encoder.get_feature_names_out()
    columns = None if encoder is None else list(dict.fromkeys(encoder.feature_origin_[j].column for j in read))
    return {
        "file": path,
        "bytes": os.path.getsize(path) if path else None,
        "estimator": type(estimator).__name__,
        "task": task_of(model),
        "classes": list(estimator.classes_) if is_classes(model) else None,
        "kernel": kernel_name(vars(estimator).get("kernel_")),
        "n_basis": sum(label.startswith("u") for label in labels),
        "linear_part": not all(label.startswith("u") for label in labels),
        "n_outputs": fitted.n_outputs,
        "n_features": fitted.n_features,
        "features_read": [str(names[j]) if names is not None else f"x{j}" for j in read],
        "columns_read": columns,
        "chosen_on_halves": _on_halves(estimator, names, read),
        "weights": {label: weight for label, weight in zip(labels, fitted.weights, strict=True)},
        "intercept": fitted.intercept,
    }


def _on_halves(estimator: Any, names: Any, read: Any) -> dict[str, float] | None:
    """Return the share of random halves of the training samples that chose each feature; None if it is not known."""
    shares = vars(estimator).get("half_frequency_")  # of a strict selection
    if shares is None:
        return None
    return {str(names[j]) if names is not None else f"x{j}": float(shares[j]) for j in read}


def vectors_of(found: dict[str, Any]) -> str:
    """Return, from the facts, what a model is made of."""
    vectors = f"{found['n_basis']} basis vector{'s' * (found['n_basis'] != 1)}"
    return vectors + (" and a linear part" if found["linear_part"] else "")

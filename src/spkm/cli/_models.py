"""Models of the command: files of them, and what a fitted model says of itself and of samples."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from spkm._publish import feature_names
from spkm.cli._command import MODEL_FILE, CommandError
from spkm.cli._output import notes, replacing
from spkm.cli._reading import Known, data_error, listed_names, read_frame, read_saved
from spkm.cli._samples import Samples, as_labels, samples_of
from spkm.persistence import save
from spkm.tables.pipelines import before_last, encoding_of, last_of, steps_of

if TYPE_CHECKING:
    from pandas import DataFrame
    from sklearn.pipeline import Pipeline

    from spkm._arrays import TableLike


def write_model(pipeline: Pipeline, path: str, about: dict[str, Any], data: TableLike | None = None) -> None:
    """Write a fitted pipeline to a model file, with numbers and texts about it, and a summary of the samples."""
    with replacing(path) as temporary, notes():
        save(pipeline, temporary, data=data, metrics=about)


def read_model(path: str) -> Model:
    """Return the fitted estimator or pipeline of a file, a model of one table, or end with what the file holds."""
    model = Model(read_saved(path), path)
    if is_of_two_tables(model.last):
        raise CommandError(
            f"{path} holds an SPKMCCA, a model of two tables, for `spkm inspect`, `spkm report --with` and `spkm "
            "export --side`. In Python, spkm.load(file).side('x').save(other) makes a model of one table.",
            exit_code=MODEL_FILE,
        )
    if not ("selected_features_" in vars(model.last) and hasattr(model.last, "predict")):  # a selector predicts nothing
        raise CommandError(f"{path} holds no fitted model of one table.", exit_code=MODEL_FILE)
    return model


def is_of_two_tables(model: object) -> bool:
    """Whether a model is of two tables at once."""
    return "x_side_" in vars(model)


def read_two_tables(path: str, option: str) -> Any:
    """Return the fitted SPKMCCA of a file, which an option is for."""
    model = read_saved(path)
    if not is_of_two_tables(model):
        raise CommandError(f"{option} is for a model of two tables (SPKMCCA); {path} holds a model of one.")
    return model


@dataclass(frozen=True)
class Model:
    """A fitted model of one table.

    Attributes
    ----------
    whole : estimator or Pipeline
        The model.
    path : str or None
        Its file.
    """

    whole: Any
    path: str | None = None

    @cached_property
    def last(self) -> Any:
        """The estimator at the end of a pipeline, or the model itself."""
        return last_of(self.whole)

    @cached_property
    def encoding(self) -> Any:
        """The TableEncoder of a pipeline, and which of its features the last estimator gets; or None."""
        return encoding_of(steps_of(self.whole)[:-1])

    @property
    def names(self) -> Any:
        """The names of the columns of the user's table, or None."""
        return feature_names(self.whole)

    @property
    def classes(self) -> Any:
        """The classes, or None."""
        return vars(self.last).get("classes_")

    @property
    def task(self) -> str:
        """The task: "classes", "numbers", "ordered" or "times"."""
        if "baseline_hazard_" in vars(self.last):
            return "times"
        if self.last.model_.target.task == "ordered":
            return "ordered"
        return "numbers" if self.classes is None else "classes"

    def known(self, ids: list[str] | None = None) -> Known:
        """Return the columns of the model, and those of texts: identifiers, and categories.

        Levels must not be taken for numbers in some chunks and not in others.
        """
        plans = [] if self.encoding is None else self.encoding.encoder.plans_
        texts = [plan.column for plan in plans if plan is not None and plan.kind == "category"]
        names = () if self.names is None else tuple(map(str, self.names))
        return Known((*texts, *(name for name in ids or () if name not in names)), names)

    def read(self, path: str, kind: str | None = None, ids: list[str] | None = None) -> DataFrame:
        """Return all samples of a file; columns that name samples stay texts as they are."""
        return read_frame(path, kind, self.known(ids))

    def features(self, frame: DataFrame, path: str) -> Any:
        """Return the columns of a frame that the model was fitted on, in its order."""
        if self.names is None:
            count = self.whole.n_features_in_
            if frame.shape[1] != count:
                raise data_error(f"{path} must have the {count} columns of the fit; it has {frame.shape[1]}.")
            return frame.to_numpy()
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise data_error(f"{path} has no column {listed_names(absent)}, which the model needs.")
        return frame[list(self.names)]

    def encoded(self, X: TableLike, path: str) -> Any:
        """Return samples as the last estimator gets them; cells that are not as in the fit end the command."""
        try:
            return before_last(self.whole, X)
        except (TypeError, ValueError) as error:
            raise data_error(f"{path}: {error}") from error

    def truths(self, frame: DataFrame, target: Any, group: str | None = None) -> Samples:
        """Return the samples of a file whose targets are those of the model, or end with what is wrong with them."""
        task = self.task
        if (task == "times") != (not isinstance(target, str)):
            needed = "--time and --event" if task == "times" else "--target"
            raise CommandError(f"the model predicts {task}: name the true values by {needed}.")
        plain = "classes" if task == "ordered" else task  # labels as they are: the model has their order
        found = samples_of(frame, target, [], group, plain, to_learn=False)
        if self.classes is None:
            return found
        order = self.classes if task == "ordered" else None
        return replace(found, y=as_labels(found.y, self.classes), task=task, order=order)


def kernel_name(kernel: Any) -> str:
    """Return what a kernel is called, without the numbers that were learned."""
    if isinstance(kernel, dict):
        return ", ".join(f"{name}: {kernel_name(one)}" for name, one in kernel.items())
    params = {} if kernel is None else kernel.get_params(deep=False)
    inner = params.get("kernel")
    if inner is None or "factor" in params:  # factors are learned
        return type(kernel if inner is None else inner).__name__
    return f"{type(kernel).__name__}({kernel_name(inner)})"


def facts(model: Model) -> dict[str, Any]:
    """Return the facts of a model that need no data."""
    from spkm.explain._table import basis_labels

    estimator, encoding = model.last, model.encoding
    fitted = estimator.model_
    labels = basis_labels(fitted)
    read = [int(j) for j in estimator.selected_features_]
    names, columns = feature_names(estimator), None
    if encoding is not None:
        read, names = [int(j) for j in encoding.kept[read]], encoding.encoder.get_feature_names_out()
        columns = list(dict.fromkeys(encoding.encoder.feature_origin_[j].column for j in read))
    features = [str(names[j]) if names is not None else f"x{j}" for j in read]
    chosen, shares = None, vars(estimator).get("half_frequency_")  # of a strict selection
    if shares is not None:
        chosen = dict(zip(features, shares[estimator.selected_features_].tolist(), strict=True))
    return {
        "file": model.path,
        "bytes": os.path.getsize(model.path) if model.path else None,
        "estimator": type(estimator).__name__,
        "task": model.task,
        "classes": None if model.classes is None else list(model.classes),
        "kernel": kernel_name(vars(estimator).get("kernel_")),
        "n_basis": sum(label.startswith("u") for label in labels),
        "linear_part": not all(label.startswith("u") for label in labels),
        "n_outputs": fitted.n_outputs,
        "n_features": fitted.n_features,
        "features_read": features,
        "columns_read": columns,
        "chosen_on_halves": chosen,
        "weights": {label: weight for label, weight in zip(labels, fitted.weights, strict=True)},
        "intercept": fitted.intercept,
    }


def vectors_of(found: dict[str, Any]) -> str:
    """Return, from the facts, what a model is made of."""
    vectors = f"{found['n_basis']} basis vector{'s' * (found['n_basis'] != 1)}"
    return vectors + (" and a linear part" if found["linear_part"] else "")

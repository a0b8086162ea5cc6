"""``spkm explain``: why a model predicts what it does for one sample of a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from spkm.cli._command import CommandError
from spkm.cli._output import bold, finish, notes, say, show, table
from spkm.cli._reading import add_data_options, add_sample_options, named_sample, words_of_sample

if TYPE_CHECKING:
    import numpy as np
    from pandas import DataFrame
    from sklearn.base import BaseEstimator

    from spkm._arrays import TableLike
    from spkm.cli._models import Model

BACKGROUND = 100  # samples, evenly spaced, that say what is usual


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="the model file")
    parser.add_argument("data", help="the file of the sample; - is stdin")
    add_sample_options(parser)
    parser.add_argument(
        "--background", metavar="FILE", help="samples that say what is usual; unless given, those of the file itself"
    )
    parser.add_argument("--top", type=int, default=10, metavar="N", help="most columns and vectors to show (10)")
    parser.add_argument("--json", metavar="FILE", help="all numbers as JSON; - is stdout, instead of the tables")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Explain the sample and return the exit code."""
    from spkm.cli._models import read_model

    if options.top < 1:
        raise CommandError(f"--top must be at least 1; got {options.top}.")
    model = read_model(options.model)
    frame, row = named_sample(model, options)
    usual = frame if options.background is None else model.read(options.background)
    with notes():
        result = {"row": row, "id": options.id, **explained(model, frame, row, usual, options.data)}
    finish(options.json, result, lambda: _show(result, options.top))
    return 0


def explained(model: Model, frame: DataFrame, row: int, usual: Any, path: str) -> dict[str, Any]:
    """Return the explanation of one sample as plain data: by basis vectors and, where possible, by columns."""
    import numpy as np

    from spkm._arrays import dense
    from spkm.cli.predict import predictions
    from spkm.explain._table import basis_labels

    estimator, encoding = model.last, model.encoding
    sample = frame.iloc[[row]]
    every = max(1, len(usual) // BACKGROUND)
    X, B = model.features(sample, path), model.features(usual.iloc[::every][:BACKGROUND], path)
    prediction = predictions(model, sample, [], path, row).iloc[0].to_dict()
    Z, background = model.encoded(X, path), model.encoded(B, "the background")
    fitted = estimator.model_
    if "prediction" not in prediction or fitted.pairs is not None:
        raise CommandError(
            "explain needs a model with one prediction for each sample and a score for each class; this one has "
            f"{'several targets' if 'prediction' not in prediction else 'a score for each pair of classes'}."
        )
    output = 0
    if model.classes is not None and fitted.n_outputs > 1:  # that of the class that is predicted
        output = int(np.flatnonzero(model.classes == prediction["prediction"])[0])
    rows, others = np.asarray(dense(Z)), np.asarray(dense(background))
    usual_parts = fitted.contributions(others).mean(axis=0)
    parts = fitted.contributions(rows)[0] - usual_parts
    score, base = fitted.scores(rows)[0], fitted.scores(others).mean(axis=0)
    labels, groups = basis_labels(fitted), None
    if encoding is not None:
        columns = encoding.encoder.column_groups().items()
        members = {name: np.flatnonzero(np.isin(encoding.kept, at)) for name, at in columns}
        groups = {name: at for name, at in members.items() if len(at)}
    return {
        "prediction": prediction,
        "score": score[output],
        "usual_score": base[output],
        "task": model.task,
        "positive": model.classes[1] if model.classes is not None and len(model.classes) == 2 else None,
        "contributions": {
            label: {"part": part, "similarity": similarity if label.startswith("u") else None}
            for label, part, similarity in zip(labels, parts[:, output], fitted.similarities(rows)[0], strict=True)
        },
        "columns": _shapley(estimator, Z, background, groups, output),
        "values": {str(name): value for name, value in sample.iloc[0].to_dict().items()},
    }


def _shapley(
    estimator: BaseEstimator, Z: np.ndarray, background: TableLike, groups: Any, output: int
) -> dict[str, float] | None:
    """Return the exact Shapley value of every column of the table, or None where there is no way to them."""
    from spkm.explain import explain

    try:
        found = explain(estimator, Z, background, groups=groups)
    except ValueError as error:  # some kernels have no closed form
        say(f"note: {error}")
        return None
    return dict(zip(found.feature_names, found.values[0, :, output].tolist(), strict=True))


def _show(result: dict[str, Any], top: int) -> None:
    print(bold(words_of_sample(result["row"], result["id"])))
    if result["task"] == "times":  # the column of `spkm predict`, in words
        result["prediction"] = {"log hazard": result["prediction"].pop("prediction"), **result["prediction"]}
    for name, value in result["prediction"].items():
        show(f"  {name}: {format(value, '.4g') if isinstance(value, float) else value}")
    above = "" if result["positive"] is None else f" (above 0: {result['positive']})"
    show(f"  score {result['score']:.4g}{above}, on average {result['usual_score']:.4g}")
    show("Each table of parts adds up to the difference from the average:")
    if result["columns"] is not None:
        ranked = sorted(result["columns"].items(), key=lambda item: -abs(item[1]))
        cells = [[name, str(result["values"].get(name, "")), f"{part:+.4f}"] for name, part in ranked if part]
        print(table([["column", "value", "part"], *cells[:top]]))
        show(_rest(len(cells) - top))
    ranked = sorted(result["contributions"].items(), key=lambda item: -abs(item[1]["part"]))
    cells = []
    for name, one in ranked:
        similarity = "" if one["similarity"] is None else f"{one['similarity']:.3f}"  # a linear part has none
        cells.append([name, similarity, f"{one['part']:+.4f}"])
    print(table([["basis vector", "similarity", "part"], *cells[:top]]))
    show(_rest(len(cells) - top), end="")


def _rest(count: int) -> str:
    return f"and {count} more (--top)\n" if count > 0 else ""

"""A prediction service of the standard library: loads a model file, answers JSON, says what is wrong with a request.

    python examples/serve/server.py model.spkm --port 8000
    curl -d '{"rows": [{"age": 40, "work": "private"}]}' http://127.0.0.1:8000/predict

``GET /model`` tells the columns and classes, ``GET /health`` whether it runs. It imports NumPy and ``spkm`` alone,
keeps nothing of what it is asked, and bounds what a request may cost. Encryption, passwords and many processes are the
work of what stands in front of it.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

import spkm
from spkm.persistence import NumpyModel

MOST_BYTES, MOST_ROWS, MOST_REASONS, MOST_NAMED = 2**20, 1000, 5, 20
MOST_DIGITS = 20  # of a length
FRAMING = ("Content-Length", "Transfer-Encoding")  # headers of a request with a body
SECONDS = 30  # that a connection may be silent


class BadRequest(Exception):
    """A request that cannot be answered, with the reason.

    Parameters
    ----------
    status : HTTPStatus
        A status of 400 to 499.
    reason : str
        What is wrong, and what it must be.
    """

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def read_rows(body: bytes, model: NumpyModel) -> list[list[Any]]:
    """Return the rows of a request in the order of the model's columns, or raise BadRequest."""
    try:
        request = DECODER.decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise BadRequest(HTTPStatus.BAD_REQUEST, f"The body must be JSON; {error}.") from error
    rows = request.get("rows") if isinstance(request, dict) else None
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_ROWS:
        raise _unfit(f'The body must be {{"rows": [...]}} with 1 to {MOST_ROWS} rows.')
    return [_row(row, i, model) for i, row in enumerate(rows)]


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


# Made once: json.loads and json.dumps make such an object for every call that has options.
DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique)
ENCODER = json.JSONEncoder(allow_nan=False)


def _unfit(reason: str) -> BadRequest:
    return BadRequest(HTTPStatus.UNPROCESSABLE_ENTITY, reason)


def _row(row: Any, i: int, model: NumpyModel) -> list[Any]:
    names = model.feature_names
    if isinstance(row, dict):
        if names is None:
            raise _unfit(f"rows[{i}] must be a list of {model.n_features} numbers: this model has no names of columns.")
        absent, unknown = [n for n in names if n not in row], [n for n in row if n not in names]
        if absent or unknown:
            wrong = [f"lacks {absent}"] if absent else []
            wrong += [f"has unknown columns {[name[:100] for name in unknown[:MOST_NAMED]]}"] if unknown else []
            raise _unfit(f"rows[{i}] {' and '.join(wrong)}; GET /model lists the columns.")
        row = [row[name] for name in names]
    if not isinstance(row, list) or len(row) != model.n_features:
        raise _unfit(f"rows[{i}] must be an object, or a list of {model.n_features} values.")
    mixed = "encoder" in model.plain
    if set(map(type, row)) == {float}:
        return row
    for j, value in enumerate(row):
        fits = value is None or isinstance(value, str | bool | int | float) if mixed else type(value) in (int, float)
        if not fits or (isinstance(value, int) and abs(value) > 2**1000):
            column = names[j] if names else j
            raise _unfit(
                f"rows[{i}], column {column!r}: {'a number, text or null' if mixed else 'a number'} is needed."
            )
    return row


def answer(model: NumpyModel, rows: list[list[Any]]) -> dict[str, Any]:
    """Return predictions, probabilities and reasons: which columns moved the score, against their usual values."""
    try:
        with np.errstate(all="ignore"):  # what overflows is refused below
            F, effects = model.effects(rows)
    except (TypeError, ValueError, OverflowError) as error:
        raise _unfit(str(error)) from error
    wrong = np.flatnonzero(~(np.isfinite(F).all(axis=1) & np.isfinite(effects).all(axis=(1, 2))))
    if len(wrong):
        raise _unfit(f"rows[{wrong[0]}] has no finite score: its numbers are too large for the model.")
    predictions, scores = model.predict_from(F).tolist(), F.tolist()
    shares = model.probabilities_from(F).tolist() if model.plain["probabilities"] is not None else None
    names = model.feature_names or [f"x{j}" for j in range(model.n_features)]
    labels = list(map(str, model.plain["classes"] or model.plain["outputs"]))
    found = []
    for i, prediction in enumerate(predictions):
        one: dict[str, Any] = {"prediction": prediction, "score": scores[i]}
        if shares is not None:
            one["probability"] = dict(zip(labels, shares[i], strict=True))
        output = scores[i].index(max(scores[i]))  # of several scores, the reasons for the largest
        parts = effects[i, :, output].tolist()
        order = sorted(range(len(parts)), key=list(map(abs, parts)).__getitem__, reverse=True)[:MOST_REASONS]
        one["reasons"] = [{"column": names[j], "effect": parts[j]} for j in order if parts[j] != 0]
        found.append(one)
    return {"answers": found}


def handler_of(model: NumpyModel) -> type[BaseHTTPRequestHandler]:
    """Return the class that answers requests from a model."""
    about = {
        "task": model.task,
        "columns": model.feature_names,
        "n_columns": model.n_features,
        "classes": model.plain["classes"],
        "library": spkm.__version__,
    }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "spkm", ""
        timeout = SECONDS
        wbufsize = -1  # head and body leave in one packet
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            known = {"/health": {"status": "ok"}, "/model": about}
            if any(name in self.headers for name in FRAMING):
                self.close_connection = True  # a body that nobody reads is not the next request
            if self.path in known:
                self.reply(HTTPStatus.OK, known[self.path])
            elif self.path == "/predict":
                self.reply(HTTPStatus.METHOD_NOT_ALLOWED, {"error": "Use POST."})
            else:
                self.reply(HTTPStatus.NOT_FOUND, {"error": "Paths are /predict, /model and /health."})

        def do_POST(self) -> None:
            try:
                if self.path != "/predict":
                    raise BadRequest(HTTPStatus.NOT_FOUND, "POST goes to /predict.")
                self.reply(HTTPStatus.OK, answer(model, read_rows(self.body(), model)))
            except BadRequest as error:
                self.close_connection = True  # of a body that was not read the rest may follow
                self.reply(error.status, {"error": str(error)})

        def body(self) -> bytes:
            if "Transfer-Encoding" in self.headers:
                raise BadRequest(HTTPStatus.BAD_REQUEST, "A body has a Content-Length and no Transfer-Encoding.")
            lengths = self.headers.get_all("Content-Length", [])
            if len(lengths) != 1 or not (lengths[0].isascii() and lengths[0].isdigit()):
                raise BadRequest(HTTPStatus.LENGTH_REQUIRED, "Content-Length must be given, once, as a number.")
            length = int(lengths[0]) if len(lengths[0]) <= MOST_DIGITS else MOST_BYTES + 1
            if length > MOST_BYTES:
                raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A body has at most {MOST_BYTES} bytes.")
            body = self.rfile.read(length)
            if len(body) < length:
                raise BadRequest(HTTPStatus.BAD_REQUEST, f"The body ended after {len(body)} of {length} bytes.")
            return body

        def reply(self, status: HTTPStatus, content: dict[str, Any]) -> None:
            text = ENCODER.encode(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(text)
            self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            """Keep nothing: requests hold personal data."""

    return Handler


class Server(ThreadingHTTPServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError | TimeoutError | socket.timeout):
            super().handle_error(request, client_address)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the predictions of a model file.")
    parser.add_argument("model", help="what save() wrote")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes one that is free")
    options = parser.parse_args()
    model = spkm.load(options.model, runtime="numpy")
    with Server((options.host, options.port), handler_of(model)) as server:
        host, port = server.server_address[:2]
        print(f"http://{host!s}:{port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()

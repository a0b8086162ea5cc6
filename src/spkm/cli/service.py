"""A prediction service of the standard library: answers JSON from a model file and refuses bad requests with a reason.

It imports NumPy and ``spkm`` alone, keeps nothing of a request, and bounds its cost: bytes, rows, seconds, and
connections at a time. Encryption, passwords and many processes are the work of a proxy in front of it.
"""

from __future__ import annotations

import io
import json
import re
import socket
import sys
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

import spkm
from spkm.persistence import NumpyModel
from spkm.persistence._plain import for_javascript, with_javascript_classes

MOST_BYTES, MOST_ROWS, MOST_REASONS, MOST_NAMED = 2**20, 1000, 5, 20
MOST_DIGITS = 20  # of a length
MOST_FIELDS, MOST_LINE = 100, 65536  # of a head, as http.server bounds them
FIELD = re.compile(rb"[!#-'*+.^_`|~0-9A-Za-z-]+:[^\r\0]*\r?\n")
FRAMING = ("Content-Length", "Transfer-Encoding")  # headers of a request with a body
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
PIECE = 65536  # bytes of a body that are read at once


class BadRequest(Exception):
    """A request that cannot be answered, with the reason.

    Parameters
    ----------
    status : HTTPStatus
        A status of 400 to 499.
    reason : str
        The fault, and the value that is needed.
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


def _row(row: object, i: int, model: NumpyModel) -> list[Any]:
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
        one: dict[str, Any] = {"prediction": for_javascript(prediction), "score": scores[i]}
        if shares is not None:
            one["probability"] = dict(zip(labels, shares[i], strict=True))
        output = scores[i].index(max(scores[i]))  # of several scores, the reasons for the largest
        parts = effects[i, :, output].tolist()
        order = sorted(range(len(parts)), key=list(map(abs, parts)).__getitem__, reverse=True)[:MOST_REASONS]
        one["reasons"] = [{"column": names[j], "effect": parts[j]} for j in order if parts[j] != 0]
        found.append(one)
    return {"answers": found}


class Handler(BaseHTTPRequestHandler):
    """Answers of a :class:`Server` to the requests of a connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "spkm", ""
    wbufsize = -1  # head and body leave in one packet
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Bound the time that a connection may be silent."""
        self.request.settimeout(self.server.seconds)
        super().setup()

    def parse_request(self) -> bool:
        """Read the head of a request; refuse one that a proxy may understand in another way.

        The parser of the standard library takes a bare carriage return for the end of a line, and a line that is no
        field for the end of the head: fields after it, such as a length, are lost.
        """
        stream = self.rfile
        lines: list[bytes] = []
        while len(lines) <= MOST_FIELDS and (line := stream.readline(MOST_LINE + 1)).strip(b"\r\n"):
            lines.append(line)
        self.rfile = io.BytesIO(b"".join(lines) + b"\r\n")
        try:
            understood = super().parse_request()
        finally:
            self.rfile = stream
        if understood and not all(map(FIELD.fullmatch, lines)):
            self.close_connection = True
            self.reply(HTTPStatus.BAD_REQUEST, {"error": "Each line of the head must be a name, a colon and a value."})
            return False
        return understood

    def do_GET(self) -> None:
        """Answer with the state of the service, or with facts about the model."""
        known = {"/health": {"status": "ok"}, "/model": self.server.about}
        if any(name in self.headers for name in FRAMING):
            self.close_connection = True  # a body that nobody reads is not the next request
        if self.path in known:
            self.reply(HTTPStatus.OK, known[self.path])
        elif self.path == "/predict":
            self.reply(HTTPStatus.METHOD_NOT_ALLOWED, {"error": "Use POST."})
        else:
            self.reply(HTTPStatus.NOT_FOUND, {"error": "Paths are /predict, /model and /health."})

    def do_POST(self) -> None:
        """Answer with predictions, or with what is wrong with the request."""
        model = self.server.model
        try:
            if self.path != "/predict":
                raise BadRequest(HTTPStatus.NOT_FOUND, "POST goes to /predict.")
            self.reply(HTTPStatus.OK, answer(model, read_rows(self.body(), model)))
        except BadRequest as error:
            self.close_connection = True  # of a body that was not read the rest may follow
            self.reply(error.status, {"error": str(error)})

    def body(self) -> bytes:
        """Return the body of a request, or raise BadRequest."""
        if "Transfer-Encoding" in self.headers:
            raise BadRequest(HTTPStatus.BAD_REQUEST, "A body has a Content-Length and no Transfer-Encoding.")
        lengths = self.headers.get_all("Content-Length", [])
        if len(lengths) != 1 or not (lengths[0].isascii() and lengths[0].isdigit()):
            raise BadRequest(HTTPStatus.LENGTH_REQUIRED, "Content-Length must be given, once, as a number.")
        length = int(lengths[0]) if len(lengths[0]) <= MOST_DIGITS else MOST_BYTES + 1
        if length > MOST_BYTES:
            raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A body has at most {MOST_BYTES} bytes.")
        body, seconds = b"", self.server.seconds
        until = time.monotonic() + seconds
        while len(body) < length and (piece := self.rfile.read1(min(PIECE, length - len(body)))):
            body += piece
            if time.monotonic() > until:  # a client that sends a byte now and then
                raise BadRequest(HTTPStatus.REQUEST_TIMEOUT, f"A body must arrive within {seconds:g} seconds.")
        if len(body) < length:
            raise BadRequest(HTTPStatus.BAD_REQUEST, f"The body ended after {len(body)} of {length} bytes.")
        return body

    def reply(self, status: HTTPStatus, content: dict[str, Any]) -> None:
        """Send an answer."""
        text = ENCODER.encode(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")  # answers may hold personal data
        self.send_header("Content-Length", str(len(text)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep nothing: requests hold personal data."""


class Server(ThreadingHTTPServer):
    """A thread for each connection, and a bound on their number.

    Parameters
    ----------
    address : tuple of str and int
        Host and port; the port 0 takes one that is free.
    model : NumpyModel
        The model that answers.
    connections : int, default=100
        Largest number of connections at a time; more are refused at once.
    seconds : float, default=30
        Time that a connection may be silent, and that a body may take to arrive.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, address: tuple[str, int], model: NumpyModel, connections: int = 100, seconds: float = 30.0
    ) -> None:
        self.free = threading.BoundedSemaphore(connections)
        self.model, self.seconds = model, seconds
        self.about = {
            "task": model.task,
            "columns": model.feature_names,
            "n_columns": model.n_features,
            "classes": with_javascript_classes(model.plain).get("javascript_classes", model.plain["classes"]),
            "library": spkm.__version__,
        }
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, or refuse it if there are too many."""
        if not self.free.acquire(blocking=False):
            with suppress(OSError):
                request.sendall(BUSY)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for another connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Leave out clients that went away."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError | socket.timeout):
            super().handle_error(request, client_address)

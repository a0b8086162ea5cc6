"""``spkm serve``, a real server on the loopback interface: right answers, and reasons for bad requests."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from spkm import SPKMClassifier, save
from spkm.cli import main, service
from spkm.kernels import RBF, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, Rescaled, Sum
from spkm.persistence import NumpyModel, plain_model
from tests.fitted_cases import fitted as estimators
from tests.fitted_cases import samples
from tests.made_models import make_model
from tests.pipeline_cases import fitted, mixed
from tests.saving import from_bytes, to_bytes
from tests.test_model_pipelines import rows_of


@pytest.fixture(scope="module")
def servers():
    """Yield the ports of servers of a pipeline and of a model without names."""
    models = {"table": fitted("three classes"), "plain": estimators("regression")}
    running = {
        name: service.Server(("127.0.0.1", 0), from_bytes(to_bytes(model), "numpy")) for name, model in models.items()
    }
    for server in running.values():
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield {name: server.server_address[1] for name, server in running.items()}
    for server in running.values():
        server.shutdown()
        server.server_close()


def ask(port, body, path="/predict", method="POST", headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        text = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, body=text, headers=headers or {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_answers_are_those_of_the_pipeline(servers):
    pipeline, frame = fitted("three classes"), mixed(20)
    as_lists = rows_of(frame)
    as_objects = [dict(zip(frame.columns, row, strict=True)) for row in as_lists]
    for rows in (as_lists, as_objects):
        status, found = ask(servers["table"], {"rows": rows})
        assert status == 200
        answers = found["answers"]
        assert [one["prediction"] for one in answers] == pipeline.predict(frame).tolist()
        shares = [[one["probability"][label] for label in pipeline.classes_] for one in answers]
        np.testing.assert_allclose(shares, pipeline.predict_proba(frame), rtol=1e-9, atol=1e-12)
        assert all(one["reasons"] for one in answers)


def test_reasons_are_what_the_score_loses_when_a_column_is_usual():
    pipeline, frame = fitted("numbers"), mixed(12)
    light = from_bytes(to_bytes(pipeline), "numpy")
    F, effects = light.effects(frame)
    np.testing.assert_allclose(F, light.scores(frame), rtol=1e-12)
    encoder, model = pipeline[0], pipeline[-1].model_
    Z = encoder.transform(frame)
    for name, columns in encoder.column_groups().items():
        moved = Z.copy()
        moved[:, columns] = model.scaling.center[columns]
        want = model.scores(Z) - model.scores(moved)
        np.testing.assert_allclose(effects[:, list(frame.columns).index(name)], want, rtol=1e-9, atol=1e-9)
    assert np.all(effects[:, list(frame.columns).index("planet")] == 0)


def test_numbers_without_names(servers):
    X = samples("regression")[:5]
    status, found = ask(servers["plain"], {"rows": X.tolist()})
    assert status == 200
    want = estimators("regression").predict(X)
    np.testing.assert_allclose([one["prediction"] for one in found["answers"]], want, rtol=1e-9)
    assert ask(servers["plain"], {"rows": [{"a": 1.0, "b": 2.0}]})[0] == 422


def test_classes_that_javascript_would_merge_are_texts():
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = 2**53 + (X[:, 0] > 0)
    model = SPKMClassifier(n_basis=2, weight_penalty="rkhs", random_state=0).fit(X, y)
    server = service.Server(("127.0.0.1", 0), from_bytes(to_bytes(model), "numpy"))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        status, found = ask(server.server_address[1], {"rows": X[:20].tolist()})
        assert status == 200
        assert [one["prediction"] for one in found["answers"]] == model.predict(X[:20]).astype(str).tolist()
        _, told = ask(server.server_address[1], None, "/model", "GET")
        assert told["classes"] == ["9007199254740992", "9007199254740993"]
    finally:
        server.shutdown()
        server.server_close()


def test_it_tells_of_itself(servers):
    assert ask(servers["table"], None, "/health", "GET") == (200, {"status": "ok"})
    about = ask(servers["table"], None, "/model", "GET")[1]
    assert about["columns"] == list(mixed().columns) and about["classes"] == ["high", "low", "mid"]


GOOD = rows_of(mixed(1))[0]
BAD = [
    (b"no json", 400, "must be JSON"),
    (b"", 400, "must be JSON"),
    (b'{"rows": [[NaN]]}', 400, "NaN"),
    (b'{"rows": ' + b"[" * 100_000, 400, "must be JSON"),
    (b"\xff\xfe", 400, "must be JSON"),
    ([], 422, '"rows"'),
    ({"rows": []}, 422, "1 to 1000 rows"),
    ({"rows": [GOOD] * 1001}, 422, "1 to 1000 rows"),
    ({"rows": "x"}, 422, '"rows"'),
    ({"rows": [GOOD[:3]]}, 422, "rows[0] must be"),
    ({"rows": [GOOD, 7]}, 422, "rows[1] must be"),
    ({"rows": [{"age": 1}]}, 422, "lacks ['work; DROP'"),
    ({"rows": [dict.fromkeys([*mixed().columns, "more"], None)]}, 422, "unknown columns ['more']"),
    ({"rows": [["old", *GOOD[1:]]]}, 422, "Column 'age' must hold numbers"),
    ({"rows": [[[1], *GOOD[1:]]]}, 422, "column 'age': a number, text or null"),
    ({"rows": [[10**400, *GOOD[1:]]]}, 422, "column 'age'"),
    (b'{"rows": [[1e999]]}', 422, "rows[0]"),
    (b'{"rows": [["x"]], "rows": 3}', 400, "a key twice"),
    ({"rows": [["nan", *GOOD[1:]]]}, 422, "Column 'age' must hold numbers"),
    ({"rows": [["1_0", *GOOD[1:]]]}, 422, "Column 'age' must hold numbers"),
    ({"rows": [[*GOOD[:3], 7.5, *GOOD[4:]]]}, 422, "Column 'member' must hold truths"),
    ({"rows": [{}]}, 422, f"lacks {list(mixed().columns)}"),
    ({"rows": [{"other": 1}]}, 422, "and has unknown columns ['other']"),
]


@pytest.mark.parametrize("body, status, says", BAD, ids=[str(k) for k in range(len(BAD))])
def test_bad_requests_get_a_reason(body, status, says, servers):
    got, found = ask(servers["table"], body)
    assert got == status and says in found["error"]
    assert ask(servers["table"], {"rows": [GOOD]})[0] == 200


@pytest.mark.parametrize(
    "method, path, headers, status",
    [
        ("POST", "/other", {}, 404),
        ("GET", "/predict", {}, 405),
        ("GET", "/../etc/passwd", {}, 404),
        ("POST", "/predict", {"Content-Length": str(2**40)}, 413),
        ("POST", "/predict", {"Content-Length": "-5"}, 411),
        ("POST", "/predict", {"Transfer-Encoding": "chunked"}, 400),
        ("POST", "/predict", {"Transfer-Encoding": "chunked", "Content-Length": "2"}, 400),
        ("POST", "/predict", {"Content-Length": "9" * 5000}, 413),
        ("POST", "/predict", {"Content-Length": "0" * 30}, 413),
    ],
)
def test_bad_paths_and_lengths(method, path, headers, status, servers):
    assert ask(servers["plain"], None, path, method, headers)[0] == status


def exchanged(port, text):
    """Return everything that a server answers to some bytes, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(text)
        found = b""
        try:
            while part := connection.recv(65536):
                found += part
        except ConnectionResetError:  # it closed without reading all of it
            pass
        return found


HIDDEN = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"GET /model HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n",
        b"GET /model HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nContent-Length: 0\r\n\r\n",
        b"PUT /predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n",
        # What a proxy may read otherwise: a blank in a name, lines that are no field, a bare carriage return, no name.
        b"GET /model HTTP/1.1\r\nHost: a\r\nContent-Length : %d\r\n\r\n",
        b"GET /model HTTP/1.1\r\nHost: a\r\nno field\r\nContent-Length: %d\r\n\r\n",
        b"GET /model HTTP/1.1\r\n Content-Length: %d\r\nHost: a\r\n\r\n",
        b"GET /model HTTP/1.1\r\nHost: a\rContent-Length: %d\r\n\r\n",
        b"GET /model HTTP/1.1\r\nHost: a\r\n: b\r\nContent-Length: %d\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding : chunked\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_a_body_is_never_the_next_request(head, servers):
    head = head.replace(b"%d", str(len(HIDDEN)).encode())
    found = exchanged(servers["plain"], head + HIDDEN)
    assert found.count(b"HTTP/1.1 ") == 1 and b'"status"' not in found
    last = HIDDEN.replace(b"Host: a", b"Host: a\r\nConnection: close")
    assert exchanged(servers["plain"], HIDDEN + last).count(b'"status"') == 2  # while two requests are two


def test_half_a_body_is_no_request(servers):
    with socket.create_connection(("127.0.0.1", servers["plain"]), timeout=5) as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{}")
        connection.shutdown(socket.SHUT_WR)
        assert b"ended after 2 of 99 bytes" in connection.recv(65536)


def test_results_that_are_infinite_get_a_reason():
    light = NumpyModel(plain_model(make_model(KINDS["polynomial"], 5, scaling=False)))
    with pytest.raises(service.BadRequest, match=r"rows\[1\] has no finite score"):
        service.answer(light, [[0.0] * 5, [1e200] * 5])


def test_several_connections_at_once(servers):
    body = {"rows": rows_of(mixed(3))}
    want = ask(servers["table"], body)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: ask(servers["table"], body), range(40)))
    assert all(one == want for one in found)


def test_connections_are_bounded():
    model = from_bytes(to_bytes(estimators("regression")), "numpy")
    server = service.Server(("127.0.0.1", 0), model, connections=1)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    port = server.server_address[1]
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as first:
            first.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert first.recv(15) == b"HTTP/1.1 200 OK"  # and the connection stays open
            with socket.create_connection(("127.0.0.1", port), timeout=30) as second:
                assert second.recv(12) == b"HTTP/1.1 503"
        for _ in range(100):  # the place is free again
            try:
                status, _ = ask(port, None, "/health", "GET")
                break
            except (ConnectionError, json.JSONDecodeError):
                time.sleep(0.05)
        assert status == 200
    finally:
        server.shutdown()
        server.server_close()


def test_a_body_that_trickles_in_is_refused():
    model = from_bytes(to_bytes(estimators("regression")), "numpy")
    server = service.Server(("127.0.0.1", 0), model, seconds=1.0)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        with socket.create_connection(server.server_address[:2], timeout=0.2) as connection:
            connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n")
            answer = b""
            for _ in range(100):  # a byte now and then, until there is an answer
                try:
                    answer = connection.recv(12)
                    break
                except TimeoutError:
                    connection.sendall(b" ")
        assert answer == b"HTTP/1.1 408"
    finally:
        server.shutdown()
        server.server_close()


def test_answers_are_not_to_be_stored(servers):
    connection = http.client.HTTPConnection("127.0.0.1", servers["table"], timeout=30)
    connection.request("GET", "/model")
    headers = connection.getresponse().headers
    connection.close()
    assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_a_signal_ends_the_service_with_0_and_the_address_is_json(tmp_path):
    save(estimators("regression"), tmp_path / "model.spkm")
    words = [sys.executable, "-m", "spkm", "serve", str(tmp_path / "model.spkm"), "--port", "0", "--json", "-"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(4)]
        assert json.loads("".join(lines))["address"].startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0 and process.stderr.read() == ""


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["none.spkm"], 4, "there is no model file"),
        (["bad.spkm"], 4, "cannot be read as a model file"),
        (["good.spkm", "--port", "70000"], 2, "--port must be"),
        (["good.spkm", "--port", "0", "--host", "203.0.113.1"], 1, "cannot listen"),
    ],
)
def test_what_cannot_be_served_is_told(words, code, says, tmp_path, capsys):
    save(estimators("regression"), tmp_path / "good.spkm")
    (tmp_path / "bad.spkm").write_bytes(b"no model")
    name, *more = words
    assert main(["serve", str(tmp_path / name), *more]) == code
    assert says in capsys.readouterr().err


def test_the_program_serves_and_imports_numpy_alone(tmp_path):
    save(fitted("numbers"), tmp_path / "model.spkm")
    code = f"""
import sys, threading
from spkm.cli import main
def last():
    sys.stdin.read()
    print([name for name in ("sklearn", "scipy", "pandas") if name in sys.modules], flush=True)
    __import__("os")._exit(0)
threading.Thread(target=last, daemon=True).start()
main(["serve", {str(tmp_path / "model.spkm")!r}, "--port", "0"])
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        port = int(re.search(r":(\d+)$", process.stdout.readline().strip()).group(1))
        status, found = ask(port, {"rows": rows_of(mixed(2))})
        assert status == 200 and len(found["answers"]) == 2
        assert process.communicate(timeout=60)[0].strip() == "[]"


KINDS = {
    "rbf": [(3, [(RBF(0.3), None)])],
    "laplacian of some": [(3, [(Laplacian(0.2), [0, 2, 4])])],
    "matern beside a linear part": [(3, [(Matern(2.5, gamma=0.2), None)]), (1, [(Linear(0.4), None)])],
    "rational quadratic": [(2, [(RationalQuadratic(1.5, gamma=0.3), None)])],
    "polynomial": [(3, [(Polynomial(3, gamma=0.3), None)])],
    "relevances": [(3, [(Rescaled(Matern(1.5, gamma=0.2), np.linspace(0, 2, 5)), None)])],
    "a product of views": [(3, [(RBF(0.3), [0, 1]), (Linear(0.2), [2, 3, 4])])],
    "a sum": [(2, [(Sum(RBF(0.3), Laplacian(0.2)), None)])],
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("scaling", [True, False])
def test_effects_are_those_of_samples_with_a_column_changed(name, scaling):
    model = make_model(KINDS[name], 5, n_outputs=2, scaling=scaling)
    light = NumpyModel(plain_model(model))
    usual = model.scaling.center if scaling else np.zeros(5)
    X = 2 * np.random.default_rng(0).normal(size=(4, 5))
    F, effects = light.effects(X)
    np.testing.assert_allclose(F, light.scores(X), rtol=1e-12, atol=1e-12)
    for j in range(5):
        changed = X.copy()
        changed[:, j] = usual[j]
        np.testing.assert_allclose(effects[:, j], F - light.scores(changed), rtol=1e-9, atol=1e-11)

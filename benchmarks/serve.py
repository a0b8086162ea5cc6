"""The service recipe on the loopback interface: what it adds to a handler that answers nothing, and flat memory.

Server and client are processes of their own; the client sends one row after another on connections that stay open.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks._data import Settings
from benchmarks._report import Row, at_most, below
from spkm import SPKMClassifier

TRIVIAL = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
        self.wfile.flush()
    def log_message(self, *args):
        pass
class Server(ThreadingHTTPServer):
    daemon_threads = True
server = Server(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
"""


def run(settings: Settings) -> Iterator[Row]:
    """Yield times of a request of one row, 30 features and 10 vectors, and the growth of memory."""
    X, y = load_breast_cancer(return_X_y=True)
    model = SPKMClassifier(n_basis=10, random_state=0).fit(X, y)
    body = json.dumps({"rows": [X[0].tolist()]}).encode()
    each, many = (200, 1000) if settings.quick else (4000, 100_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.spkm"
        model.save(path)
        ours = [sys.executable, "-m", "spkm", "serve", str(path), "--port", "0"]
        trivial = [sys.executable, "-c", TRIVIAL]
        with _running(ours) as (port, process), _running(trivial) as (other, empty):
            for address in (port, other):
                _times(address, body, each // 10)
            # In turns, so that both see the same machine.
            pairs = [(_times(port, body, each // 10), _times(other, body, each // 10)) for _ in range(10)]
            mine, its = (np.concatenate(part) for part in zip(*pairs, strict=True))
            for name, p in (("p50", 50), ("p99", 99)):
                added = 1e3 * (np.percentile(mine, p) - np.percentile(its, p))
                more = {"ours": 1e3 * np.percentile(mine, p), "trivial": 1e3 * np.percentile(its, p)}
                detail = ", ".join(f"{key} {value:.2f}" for key, value in more.items())
                reach = below(0.2) if p == 50 else None
                yield Row(f"ms that a request takes over a trivial one, {name} ({detail})", added, reach, "{:.3f}")
            added = 1e3 * (_work(process.pid, port, body, each) - _work(empty.pid, other, body, each)) / each
            yield Row("ms of CPU that the server takes for a request, over a trivial one", added, below(0.2), "{:.3f}")
            for count in (1, 8):
                started = time.perf_counter()
                with ThreadPoolExecutor(count) as pool:
                    parts = list(pool.map(lambda _: _times(port, body, each // 8), range(count)))
                seconds, times = time.perf_counter() - started, np.concatenate(parts)
                detail = f"p50 {1e3 * np.median(times):.2f} ms, p99 {1e3 * np.percentile(times, 99):.2f} ms"
                yield Row(f"requests a second, {count} connections ({detail})", len(times) / seconds, form="{:.0f}")
            yield _memory(process.pid, port, body, many)


def _work(process: int, port: int, body: bytes, count: int) -> float:
    """Return the seconds of CPU that a server takes for requests: what else the machine does is not in them."""
    before = _cpu(process)
    _times(port, body, count)
    return _cpu(process) - before


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(process: int, port: int, body: bytes, many: int) -> Row:
    _times(port, body, many // 20)
    before = _resident(process)
    _times(port, body, many)
    grown = (_resident(process) - before) / 1024
    return Row(f"MB that the server grows by in {many} requests", grown, at_most(2.0), "{:.2f}")


def _resident(process: int) -> int:
    """Return the resident memory of a process in kB."""
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


@contextmanager
def _running(command: list[str]) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline().rsplit(":", 1)[1]), process
        finally:
            process.terminate()


def _times(port: int, body: bytes, count: int) -> np.ndarray:
    """Return the seconds of requests, one after another on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    found = np.empty(count)
    for i in range(count):
        started = time.perf_counter()
        connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        found[i] = time.perf_counter() - started
        if response.status != 200:
            raise RuntimeError(f"The server answered {response.status}.")
    connection.close()
    return found

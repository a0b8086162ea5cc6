"""``spkm serve``: predictions of a model file over HTTP, as JSON, with probabilities and reasons.

POST /predict takes {"rows": [{"age": 40, "work": "private"}]}; GET /model lists the columns and classes, GET /health
answers while the service runs. It has no encryption and no passwords: put a proxy in front of it that has them.
"""

from __future__ import annotations

import argparse
import signal
import sys
from ipaddress import ip_address

from spkm.cli._command import FAILED, CommandError
from spkm.cli._output import finish, say, show


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="the model file")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1: this machine alone)")
    parser.add_argument("--port", type=int, default=8000, help="0 takes one that is free (8000)")
    parser.add_argument("--json", metavar="FILE", help="the address as JSON; - is stdout, instead of the text")


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; return 0, or 1 if the address cannot be had."""
    from spkm.cli._reading import read_saved
    from spkm.cli.service import Server

    if not 0 <= options.port <= 65535:
        raise CommandError(f"--port must be from 0 to 65535; got {options.port}.")
    model = read_saved(options.model, runtime="numpy")
    try:
        server = Server((options.host, options.port), model)
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(f"cannot listen on {options.host}:{options.port}: {reason}.", FAILED) from error
    if not _is_loopback(options.host):
        say(f"note: whoever reaches {options.host} may send requests: there are no passwords and no encryption.")
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        with server:
            _tell(options, *server.server_address[:2])
            server.serve_forever()
    except KeyboardInterrupt:
        pass  # the way to end a service
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _tell(options: argparse.Namespace, host: object, port: object) -> None:
    address = f"http://[{host!s}]:{port}" if ":" in str(host) else f"http://{host!s}:{port}"
    finish(options.json, {"model": options.model, "address": address}, lambda: show(address))
    sys.stdout.flush()  # for a program that waits for the address


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

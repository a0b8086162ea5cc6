"""A browser by the WebDriver protocol, with nothing but the standard library."""

import base64
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {
    "ArrowRight": "\ue014",
    "ArrowLeft": "\ue012",
    "Home": "\ue011",
    "End": "\ue010",
    "Tab": "\ue004",
    "Enter": "\ue007",
}


def missing():
    """Return what is not installed of the browser and its driver."""
    return [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]


class Browser:
    """Chromium without a window; a context manager."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        log = Path(self.folder.name) / "port"
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                ["chromedriver", "--port=0"], stdout=out, stderr=subprocess.STDOUT, cwd=self.folder.name
            )
        self.root = f"http://127.0.0.1:{self._port(log)}"
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {
                "binary": shutil.which("chromium"),
                "args": [*OPTIONS, f"--user-data-dir={self.folder.name}/profile"],
            },
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        session = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{session['sessionId']}"
        return self

    def __exit__(self, *exception):
        try:
            self._send("DELETE", self.session)
        finally:
            self.process.terminate()
            self.process.wait(timeout=20)
            self.folder.cleanup()

    def _port(self, log):
        for _ in range(200):
            text = log.read_text(errors="replace")
            told = re.search(r"started successfully on port (\d+)", text)  # before, it says port 0
            if told and self.process.poll() is None:
                return int(told[1])
            time.sleep(0.05)
        raise RuntimeError(f"chromedriver did not start: {log.read_text(errors='replace')}")

    def _send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        # No proxy of the environment: the driver is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from error

    def command(self, name, **params):
        """Send a command of the DevTools protocol."""
        return self._send("POST", f"{self.session}/goog/cdp/execute", {"cmd": name, "params": params})

    def open(self, path, width=1200, height=900, anchor=""):
        """Open a file at a width in CSS pixels."""
        self.resize(width, height)
        self._send("POST", f"{self.session}/url", {"url": Path(path).resolve().as_uri() + anchor})

    def resize(self, width, height):
        """Set the size of the page in CSS pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.command("Emulation.setDeviceMetricsOverride", **metrics)

    def media(self, scheme="light", kind=""):
        """Ask for light or dark colours, on a screen or in "print"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", media=kind, features=features)

    def run(self, script, *arguments):
        """Return what a script of the page returns."""
        return self._send("POST", f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        """Return the element of a CSS selector."""
        return self._send("POST", f"{self.session}/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        """Click an element."""
        self._send("POST", f"{self.session}/element/{self.find(selector)}/click", {})

    def text(self, selector):
        """Return the text of an element."""
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def type(self, selector, text):
        """Type into an element that had nothing in it."""
        place = self.find(selector)
        self._send("POST", f"{self.session}/element/{place}/clear", {})
        self._send("POST", f"{self.session}/element/{place}/value", {"text": text})

    def press(self, *names):
        """Press keys in the element that has the focus."""
        steps = []
        for name in names:
            key = KEYS.get(name, name)
            steps += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        source = {"type": "key", "id": "keyboard", "actions": steps}
        self._send("POST", f"{self.session}/actions", {"actions": [source]})

    def complaints(self):
        """Return what the console said since the last time, from warnings upwards."""
        entries = self._send("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("WARNING", "SEVERE")]

    def requests(self):
        """Return the addresses of everything that was asked for since the last time."""
        entries = self._send("POST", f"{self.session}/se/log", {"type": "performance"})
        messages = [json.loads(entry["message"])["message"] for entry in entries]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path, whole=False):
        """Write a picture of the page, of all of it or of what is in view."""
        shot = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def printed(self, path):
        """Write the page as it is printed, a PDF."""
        shot = self.command("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

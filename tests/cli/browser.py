"""A headless Chromium, driven through its DevTools pipe with the standard library alone.

Source: https://chromedevtools.github.io/devtools-protocol/ (--remote-debugging-pipe: JSON messages,
each ended by a zero byte; the browser reads descriptor 3 and writes descriptor 4).
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
PATIENCE = 60  # seconds for one answer, on a busy machine


def find_browser():
    """The path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _high(descriptor):
    """The same open file as descriptor 10 or more, out of the way of 3 and 4."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="gqa-browser-")
        its_input, self.to_browser = map(_high, os.pipe())
        self.from_browser, its_output = map(_high, os.pipe())

        def place():
            os.dup2(its_input, 3)
            os.dup2(its_output, 4)

        words = [
            find_browser(),
            "--headless",
            "--no-sandbox",  # containers without user namespaces; only our own pages are opened
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
            f"--user-data-dir={self.profile}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4),
            preexec_fn=place,
        )
        os.close(its_input)
        os.close(its_output)
        self.received = b""
        self.number = 0
        self.events = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        arguments = {"targetId": page["targetId"], "flatten": True}
        self.session = self.call("Target.attachToTarget", **arguments)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _receive(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.from_browser], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self.from_browser, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("the browser does not answer")
            self.received += chunk
        message, _, self.received = self.received.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        """One command and its result; events that come meanwhile are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1200, height=900, scheme="light"):
        """Loads a file as a screen of that width shows it; "dark" or "light"."""
        self.events = []
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > end:
                raise RuntimeError(f"{path} does not load")
            self.events.append(self._receive())

    def evaluate(self, expression):
        """The value of a JavaScript expression; DevTools may run scripts where the page may not."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def press(self, key, code, text=""):
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            if text and kind == "keyDown":
                event["text"] = text
            self.call("Input.dispatchKeyEvent", **event)

    def complaints(self):
        """Console messages, uncaught exceptions and log entries since the page was opened."""
        wanted = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event.get("method") in wanted]

    def requests(self):
        """Addresses that the page asked for, itself included."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def names_by_role(self):
        """{role: [name, ...]} of what assistive technology sees."""
        found = {}
        for node in self.call("Accessibility.getFullAXTree")["nodes"]:
            if not node.get("ignored"):
                role = node.get("role", {}).get("value", "")
                found.setdefault(role, []).append(node.get("name", {}).get("value", ""))
        return found

    def screenshot(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

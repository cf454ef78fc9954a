"""Control a headless Chromium through its debugging pipe.

The pipe (`--remote-debugging-pipe`: JSON messages, each ended by a zero byte, on the descriptors
3 and 4) needs no driver, no port and no package.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEADLINE_S = 30
EVENTS_MAX = 10_000
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1440,900",
    "--remote-debugging-pipe",
)


def chromium_path() -> str | None:
    """Where Chromium is installed, if it is."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@dataclass(slots=True)
class Pipe:
    """Writes commands to the descriptor `down`, and reads answers and events from `up`."""

    down: int
    up: int
    events: list[dict[str, Any]] = field(default_factory=list)
    _buffer: bytes = b""
    _last_id: int = 0

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Run one command and return its result. Events that arrive meanwhile go to `events`."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self.down, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + DEADLINE_S
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._last_id:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)
            assert len(self.events) < EVENTS_MAX

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self.up], [], [], max(0, deadline - time.monotonic()))
            assert ready, "Chromium did not answer in time"
            chunk = os.read(self.up, 1 << 20)
            assert chunk, "Chromium closed its pipe"
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded


@dataclass(frozen=True, slots=True)
class Page:
    """One tab of the browser."""

    pipe: Pipe
    session: str

    def open(self, url: str) -> None:
        """Begin to load a page. Use `wait_for` before reading it."""
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")
        self._call("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        result = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """The expression's value as soon as it is truthy. Fails after `DEADLINE_S`."""
        deadline = time.monotonic() + DEADLINE_S
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < deadline, f"never true: {expression}\n{self.complaints()}"
            select.select([], [], [], 0.05)
        return value

    def click(self, selector: str) -> None:
        self.wait_for(f"!!document.querySelector({json.dumps(selector)})")
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key, such as `Tab` or `Enter`, or one that types `text`."""
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}.get(key, 0)
        typed = {"text": text or "\r"} if text or key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                **(typed if kind == "keyDown" else {}),
            )

    def type(self, text: str) -> None:
        """Insert text where the focus is."""
        self._call("Input.insertText", text=text)

    def show_as(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """Set the size of the window, the colour scheme, and whether it is a phone's screen."""
        scale = 2 if phone else 1
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path) -> None:
        image = self._call("Page.captureScreenshot", format="png")["data"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(image))

    def requested(self) -> list[str]:
        """The URLs of all requests so far, those of earlier pages included."""
        return [
            event["params"]["request"]["url"]
            for event in self.pipe.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[dict[str, Any]]:
        """Uncaught exceptions, and errors in the log: a blocked script, a missing file."""
        return [
            event["params"]
            for event in self.pipe.events
            if event["method"] == "Runtime.exceptionThrown"
            or (
                event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"
            )
        ]

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.pipe.call(method, self.session, **params)


@contextmanager
def browser_page(profile: Path) -> Iterator[Page]:
    """A blank page of a new Chromium process, with its profile in the folder `profile`."""
    path = chromium_path()
    assert path is not None, "chromium is not installed"
    with _started(path, profile) as pipe:
        target = pipe.call("Target.createTarget", url="about:blank")["targetId"]
        attached = pipe.call("Target.attachToTarget", targetId=target, flatten=True)
        yield Page(pipe, attached["sessionId"])


@contextmanager
def _started(path: str, profile: Path) -> Iterator[Pipe]:
    read_down, down = os.pipe()
    up, write_up = os.pipe()
    # Chromium refuses its sandbox to root.
    sandbox = ("--no-sandbox",) if os.getuid() == 0 else ()
    # subprocess passes descriptors on under their own numbers only. An intermediate process
    # renumbers them, by way of numbers that are neither 3 nor 4.
    renumber = (
        "import fcntl, os, sys\n"
        f"down, up = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in ({read_down}, {write_up}))\n"
        "os.dup2(down, 3); os.dup2(up, 4); os.execv(sys.argv[1], sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", renumber, path, *FLAGS, *sandbox, f"--user-data-dir={profile}"],
        pass_fds=(read_down, write_up),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(read_down)
    os.close(write_up)
    try:
        yield Pipe(down, up)
    finally:
        os.close(down)
        os.close(up)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(DEADLINE_S)

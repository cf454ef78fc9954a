"""Progress messages on the terminal: each step and its duration."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic


class Steps:
    """`with steps.step("Starting Valkey"): …` prints `Starting Valkey … 0.1 s`.

    Other output during a step starts on its own line.
    """

    def __init__(self) -> None:
        self._began = monotonic()
        self._open = ""

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return monotonic() - self._began

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Print `what`, and its duration after the block."""
        began = monotonic()
        self._write(f"{what} … ")
        self._open = what
        try:
            yield
        except BaseException:
            self._end_line()
            raise
        again = "" if self._open else f"{what}: "
        self._open = ""
        self._write(f"{again}{monotonic() - began:.1f} s\n")

    def say(self, name: str, line: str) -> None:
        """Print one line of a child, prefixed with its name."""
        self._end_line()
        self._write(f"{name:>10} | {line}\n")

    def _end_line(self) -> None:
        if self._open:
            self._write("\n")
        self._open = ""

    def _write(self, text: str) -> None:
        with suppress(OSError):  # `make dev | head`: a reader that left must not end the servers
            sys.stdout.write(text)
            sys.stdout.flush()

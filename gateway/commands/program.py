"""The command that starts `kith`, as shell text and as arguments."""

import shlex
import shutil
import sys
from pathlib import Path

NAME = "kith"

ARGV = (sys.executable, "-m", "gateway")
"""Starts a command of this installation as a child, independent of PATH."""


def program() -> str:
    """The command as text for the shell that started this process."""
    script = Path(sys.executable).with_name(NAME)
    if not script.exists():
        return shlex.join(ARGV)
    on_path = shutil.which(NAME)
    if on_path is not None and Path(on_path).resolve() == script.resolve():
        return NAME
    here = Path.cwd()
    shown = script.relative_to(here) if script.is_relative_to(here) else script
    return shlex.quote(str(shown))

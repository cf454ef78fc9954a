"""The Lua scripts, each in a file beside this one.

They are called by their SHA-1. Every connection loads them first.
"""

from hashlib import sha1
from pathlib import Path

from storage.redis.wire import Command

CALL = "EVALSHA"

TEXTS: dict[str, str] = {}
"""By SHA-1."""


def _script(name: str) -> str:
    """Load a script's text without comments and indents. Returns its SHA-1."""
    text = (Path(__file__).parent / f"{name}.lua").read_text(encoding="utf-8")
    lines = map(str.strip, text.splitlines())
    text = "\n".join(line for line in lines if line and not line.startswith("--"))
    digest = sha1(text.encode(), usedforsecurity=False).hexdigest()
    TEXTS[digest] = text
    return digest


CLEAR_MARK = _script("clear_mark")
CLOSE = _script("close")
CREATE_STREAM = _script("create_stream")
ENQUEUE = _script("enqueue")
FILL_VALUE = _script("fill_value")
FILL_RANGE = _script("fill_range")
FILL_RELATIONS = _script("fill_relations")
LOG_EPOCH = _script("log_epoch")
MARK = _script("mark")
UPDATE_RELATIONS = _script("update_relations")
READ_WINDOW = _script("read_window")
TAKE_BUDGET = _script("take_budget")

LOADS: list[Command] = [("SCRIPT", "LOAD", text) for text in TEXTS.values()]
"""Commands that load all scripts."""

"""The scripts that run inside the server, each in a file beside this one.

They are called by the names that a server gives them, for it hashes a text that it is sent; every
connection of ours makes them known before anything else. Where another's connection is used, they
are sent whole: redis-py accepts no EVALSHA in a pipeline to a cluster.
"""

from hashlib import sha1
from pathlib import Path

from storage.redis.wire import Command

CALL = "EVALSHA"

TEXTS: dict[str, str] = {}
"""By name."""


def _script(name: str) -> str:
    """What a server calls it. Comments and indents are left out."""
    text = (Path(__file__).parent / f"{name}.lua").read_text(encoding="utf-8")
    lines = map(str.strip, text.splitlines())
    text = "\n".join(line for line in lines if line and not line.startswith("--"))
    digest = sha1(text.encode(), usedforsecurity=False).hexdigest()
    TEXTS[digest] = text
    return digest


CLOSE = _script("close")
ENQUEUE = _script("enqueue")
FILL_VALUE = _script("fill_value")
FILL_STRETCH = _script("fill_stretch")
FILL_RELATIONS = _script("fill_relations")
UPDATE_RELATIONS = _script("update_relations")
READ_WINDOW = _script("read_window")

LOADS: list[Command] = [("SCRIPT", "LOAD", text) for text in TEXTS.values()]
"""Makes them all known to a server."""


def sent_whole(command: Command) -> Command:
    """The same for a server that may not know the script."""
    return ("EVAL", TEXTS[str(command[1])], *command[2:]) if command[0] == CALL else command

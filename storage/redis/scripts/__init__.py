"""The scripts that run inside the server, each in a file beside this one.

They are sent by EVAL: inside a pipeline, Redis Cluster accepts no EVALSHA.
"""

from pathlib import Path


def _script(name: str) -> str:
    """Its text without comments and indents: it is sent each time."""
    text = (Path(__file__).parent / f"{name}.lua").read_text(encoding="utf-8")
    lines = map(str.strip, text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--"))


CLOSE = _script("close")
ENQUEUE = _script("enqueue")
FILL_VALUE = _script("fill_value")
FILL_STRETCH = _script("fill_stretch")
FILL_RELATIONS = _script("fill_relations")
UPDATE_RELATIONS = _script("update_relations")
READ_WINDOW = _script("read_window")

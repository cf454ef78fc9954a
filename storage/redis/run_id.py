"""The run id of a Redis server, which is new after each start, and another one on each replica."""

import re

from storage.redis.wire import Command, Reply

SERVER_INFO: Command = ("INFO", "server")

_RUN_ID = re.compile(rb"run_id:(\w+)")


def run_id_in(info: Reply) -> str | None:
    """The run id in the reply to `SERVER_INFO`. None if the server has none, as some proxies."""
    found = _RUN_ID.search(info)
    return found[1].decode() if found else None

"""`python -m gateway.embedded FOLDER`: runs only the two servers, until Ctrl-C.

For benchmarks, for `psql`, and for the tests that kill a supervisor.
"""

import asyncio
import sys
from pathlib import Path

from gateway.embedded.errors import EmbeddedError
from gateway.embedded.servers import embedded_servers
from gateway.embedded.signals import until_signalled
from gateway.embedded.state import State


async def serve(folder: Path) -> None:
    with until_signalled():
        async with embedded_servers(State(folder)) as servers:
            sys.stdout.write(f"{servers.database_url}\n{servers.redis_url}\n")
            sys.stdout.flush()
            await servers.supervisor.watch()


def main(arguments: list[str]) -> int:
    try:
        asyncio.run(serve(Path(arguments[0] if arguments else ".kith")))
    except EmbeddedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

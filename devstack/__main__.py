"""`python -m devstack FOLDER`: runs only the two servers, until Ctrl-C.

For benchmarks, for `psql`, and for the tests that kill a supervisor.
"""

import asyncio
import sys
from pathlib import Path

from devstack.errors import DevstackError
from devstack.servers import running_servers, until_signalled
from devstack.state import State


async def serve(folder: Path) -> None:
    with until_signalled():
        async with running_servers(State(folder)) as servers:
            sys.stdout.write(f"{servers.database_url}\n{servers.redis_url}\n")
            sys.stdout.flush()
            await servers.supervisor.watch()


if __name__ == "__main__":
    try:
        asyncio.run(serve(Path(sys.argv[1] if len(sys.argv) > 1 else ".kith")))
    except DevstackError as error:
        sys.exit(f"{error}")

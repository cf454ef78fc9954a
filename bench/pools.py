"""PostgreSQL connection pools side by side: CPU and statements per loan of a connection.

python -m bench.pools    (DATABASE_URL: any database that may be read)

Each loan runs one small prepared statement. The figures are in docs/adr/0020.
"""

import asyncio
import os

import asyncpg
import uvloop

from bench.side_by_side import OURS, Call, measure
from storage.postgres.connection.pool import Postgres
from storage.settings import ConnectionSettings, StorageSettings

LOANS, CONNECTIONS = 3_000, 8
STATEMENT = "SELECT $1::bigint + 1"


async def main() -> None:
    url = os.environ["DATABASE_URL"]
    ours = Postgres(StorageSettings(url, "", connections=ConnectionSettings(pool_max=CONNECTIONS)))

    async def nothing(_: object) -> None:
        """Instead of the statement that resets a returned connection."""

    pools = {
        "asyncpg.Pool": await asyncpg.create_pool(url, min_size=CONNECTIONS, max_size=CONNECTIONS),
        "asyncpg.Pool without its reset": await asyncpg.create_pool(
            url, min_size=CONNECTIONS, max_size=CONNECTIONS, reset=nothing
        ),
    }

    def by(pool: "asyncpg.Pool[asyncpg.Record]") -> Call:
        async def loan() -> object:
            async with pool.acquire(timeout=2) as connection:
                return await connection.fetch(STATEMENT, 1)

        return loan

    loans: dict[str, Call] = {
        OURS: lambda: ours.fetch(STATEMENT, 1),
        **{name: by(pool) for name, pool in pools.items()},
    }
    for concurrent in (1, 8, 64):
        await measure(f"{CONNECTIONS} connections", loans, LOANS, concurrent)
    await ours.close()
    await asyncio.gather(*(pool.close() for pool in pools.values()))


if __name__ == "__main__":
    uvloop.run(main())

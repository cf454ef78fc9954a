"""A breadth-first GraphQL engine for Strawberry schemas.

A field is a function of all its parents at once. An operation is compiled once and run level by
level over columns, so the number of round trips depends on its depth and never on its breadth.

    @strawberry.type
    @of_rows(UserId)
    class User:
        @batched
        async def follower_count(users: Parents[UserId], info: Info) -> list[int]:
            return await info.context.counts.of(users)

    engine = Engine(strawberry.Schema(Query, types=[User]))
    result = await engine.execute(query="{ user(id: 7) { followerCount } }", context=context)

The responses are graphql-core's: the same data, the same errors. There is always a response,
whatever a resolver or a scalar does, within the bounds of the settings and by a deadline. The
engine leaves operations that a plan does not support to graphql-core, and counts them.
docs/engine.md has the guarantees, the limits and the other declarations.

The modules: declarations (`batched`, `derived`, `rows`, `zipped`, `later`); requests (`engine`,
`reading`, `document`, `variables`, `answers`); plans (`field`, `plan`) and the compiler
(`compile`); reading columns (`sources`, `lookups`), completing them (`leaves`, `lists`, `objects`)
and awaiting them (`arrivals`); field errors (`faults`, `settle`); graphql-core (`fallback`).
"""

from engine.answers import Counters
from engine.batched import Parents, batched
from engine.derived import derived
from engine.document import Operation
from engine.engine import Engine
from engine.errors import Code
from engine.later import later
from engine.outcome import Outcome, Soon, items_of
from engine.result import Rejected, Result, Stage
from engine.rows import of_rows
from engine.settings import EngineSettings
from engine.zipped import Zipped, places

__all__ = [
    "Code",
    "Counters",
    "Engine",
    "EngineSettings",
    "Operation",
    "Outcome",
    "Parents",
    "Rejected",
    "Result",
    "Soon",
    "Stage",
    "Zipped",
    "batched",
    "derived",
    "items_of",
    "later",
    "of_rows",
    "places",
]

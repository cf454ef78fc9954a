"""A breadth-first GraphQL engine for Strawberry schemas. Knows no application.

A field is a function of all its parents at once; an operation is compiled once and run level by
level, over columns, so the number of round trips depends on its depth and never on its breadth.

    @strawberry.type
    @of_rows(UserId)
    class User:
        @batched
        async def follower_count(users: Parents[UserId], info: Info) -> list[int]:
            return await info.context.counts.of(users)

    engine = Engine(strawberry.Schema(Query, types=[User]))
    result = await engine.execute(query="{ user(id: 7) { followerCount } }", context=context)

The answers are graphql-core's: the same data, the same errors. There always is one, whatever a
resolver or a scalar does, within the bounds of the settings and by a deadline. What a plan cannot
do is left to graphql-core, and counted. docs/engine.md has the promises, the limits and the rest
of the declarations.

To read it: what is declared (`batched`, `derived`, `rows`, `zipped`, `later`); how a request goes
(`engine`, `reading`, `document`, `variables`, `answers`); what a plan is (`field`, `plan`), and how
it is made (`compile`); how it gets columns (`sources`, `lookups`), completes them (`leaves`,
`lists`, `objects`) and waits for those that take time (`arrivals`); what failures mean (`faults`,
`settle`); what runs the rest (`fallback`).
"""

from engine.answers import Counters
from engine.batched import Parents, batched
from engine.derived import derived
from engine.document import Operation
from engine.engine import Engine
from engine.errors import Code
from engine.later import later
from engine.outcome import Outcome, Soon, items_of
from engine.result import Refused, Result, Stage
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
    "Refused",
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

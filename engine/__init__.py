"""A breadth-first GraphQL engine for Strawberry schemas.

A field is a function of all its parents at once. An operation is compiled once and run level by
level over columns, so the number of round trips depends on its depth and never on its breadth.

    @strawberry.type
    @row_classes(UserId)
    class User:
        @batched
        async def follower_count(users: Parents[UserId], info: Info) -> list[int]:
            return await info.context.counts.get_many(users)

    engine = Engine(strawberry.Schema(Query, types=[User]))
    result = await engine.execute(query="{ user(id: 7) { followerCount } }", context=context)

The responses are graphql-core's: the same data, the same errors. There is always a response,
whatever a resolver or a scalar does, within the bounds of the settings and by a deadline. The
engine leaves operations that a plan does not support to graphql-core, and counts them.
docs/engine.md has the guarantees, the limits and the other declarations.

The modules, in the order of a request: `engine`, `parsing` and `variables` prepare it, `executor`
runs its plan. `compiler` makes a plan of the parts in `plan`, `resolvers`, `lookup_tables`,
`leaves`, `lists` and `objects`; `run` has their base classes and the state of a run. `await_level`
awaits what a level of the plan has left pending, `field_errors` turns errors into nulls, and
`graphql_core` runs what has no plan.
"""

from engine.annotations import ItemOrError, MaybeAwaitable, without_errors
from engine.awaiting import deferred
from engine.batched import Parents, batched
from engine.bursts import Bursts
from engine.columnar_rows import ColumnarRows, column_of
from engine.derived import derived
from engine.engine import Engine
from engine.errors import ErrorCode, Unsupported, copied_error
from engine.executor import Counters
from engine.parsed_document import ParsedDocument
from engine.plan import Operation
from engine.restriction import restricted_to
from engine.result import RequestError, Result, Stage
from engine.settings import EngineSettings
from engine.turns import ADMITTED, Caller, Turns, take_turns_for
from engine.type_resolution import row_classes
from engine.variables import InvalidVariables, Values, any_value
from engine.weights import PAGE, ListSize, length_of, weighed

__all__ = [
    "ADMITTED",
    "PAGE",
    "Bursts",
    "Caller",
    "ColumnarRows",
    "Counters",
    "Engine",
    "EngineSettings",
    "ErrorCode",
    "InvalidVariables",
    "ItemOrError",
    "ListSize",
    "MaybeAwaitable",
    "Operation",
    "Parents",
    "ParsedDocument",
    "RequestError",
    "Result",
    "Stage",
    "Turns",
    "Unsupported",
    "Values",
    "any_value",
    "batched",
    "column_of",
    "copied_error",
    "deferred",
    "derived",
    "length_of",
    "restricted_to",
    "row_classes",
    "take_turns_for",
    "weighed",
    "without_errors",
]

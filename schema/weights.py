"""The weights of fields, in units of cost: about 1.4 µs of CPU time of the gateway, PostgreSQL and
Valkey together.

They are measured with full caches, by `python -m bench.cost`: see docs/cost.md. The weights
of single fields are declared with the fields; these are shared.
"""

from engine import PAGE, ListSize, weighed
from resolvers.new_followers import COUNTED_MAX as NEW_COUNTED_MAX
from resolvers.overlap import COUNTED_COST, COUNTED_INCLUDED, LOOKUP_COST, LOOKUPS_INCLUDED

DOCUMENT = 400
"""Parsing, validating and compiling a document that is not cached, besides its tokens."""
TOKEN = 20
CHARACTER = 0.125
"""A character of a string or a comment, 0.2 µs. Others are in tokens of few characters."""
KEY_CHARACTER = 0.0025
"""A character of a long response key in a row: 4 ns to write JSON and send it."""
REQUEST = 150
"""An operation without fields: HTTP, authentication, JSON."""
INTROSPECTION = 20_000
"""One `__schema` or `__type`."""
WRITE = 1_500
"""A change in PostgreSQL, its drain by the worker and the updates of the caches."""
ERROR = 8
"""A field error of a response: its path, its location, its message and its JSON. It is charged
after the operation has run, and the static cost does not contain it."""
AWAITED_ROOT = 15
"""A task for each place that selects a root field which is awaited without reading anything. It is
a weight of the row, because that of the call counts as waiting for a store, and not as work."""
QUERY = 300
"""A query of PostgreSQL for a few rows."""

PAGE_SIZE = ListSize(("first", "last"), default=20, maximum=100)

DEEP = 50
"""A page after a cursor, which can be beyond the cached entries."""
LOOKUPS = LOOKUPS_INCLUDED * LOOKUP_COST
"""Looking up the entries of the shorter one of two lists in the other."""
COUNTING = COUNTED_INCLUDED * COUNTED_COST
"""Counting the entries since a date."""
LIST = weighed(
    call=300,
    row=20,
    page=PAGE_SIZE,
    entry=0.2,
    given={
        "after": DEEP,
        "before": DEEP,
        "filter": 400,
        "filter.since": COUNTING,
        "filter.viewerFollows": LOOKUPS,
        "orderBy": DEEP,
    },
)
"""A page of a list, from the caches; with a filter, from PostgreSQL."""
OWN_LIST = weighed(call=500, row=50, page=PAGE_SIZE, entry=1)
"""A page of a list that only the viewer can open, from PostgreSQL."""
NEW_FOLLOWERS = weighed(call=QUERY + NEW_COUNTED_MAX * COUNTED_COST)
"""Finding the moment up to which followers were seen, and counting those since then."""
OVERLAP = weighed(call=QUERY, row=LOOKUPS, page=PAGE_SIZE, entry=1)
"""A page of an intersection of two lists, from PostgreSQL."""
RELATIONS = 150
"""The viewer's relations to all users of a level."""
ENTRIES = weighed(item=1, size=PAGE)
"""The entries of a page."""

"""Run a test for many random seeds, and count the outcomes."""

from collections import Counter
from collections.abc import Callable, Collection

from hypothesis import HealthCheck, given, settings, strategies

from engine import EngineSettings, Result, Stage
from engine.executor import Counters

# Seeds and not `strategies.randoms()`, whose numbers favour extremes: of 1,050 operations drawn
# from it 857 were invalid.
SEEDS = strategies.integers(0, 2**32)


UNBOUNDED = EngineSettings(
    max_tokens=100_000,
    max_fields=100_000,
    max_aliases=10_000,
    max_directives=10_000,
    max_fragments=10_000,
    max_spreads=10_000,
    max_introspections=1_000,
    max_merge_steps=1_000_000,
    max_field_errors=100_000,
    max_errors=100_000,
)
"""graphql-core refuses no document for its size, and fragments within fragments multiply; it
also reports all errors of a document, where the engine stops after a few."""


def for_seeds(run: Callable[[int], None], examples: int, *, derandomize: bool) -> None:
    """Call `run` with `examples` seeds. With `derandomize`, they are the same each time, whatever
    the name and the text of `run` are."""

    def run_seed(seed: int) -> None:  # hypothesis derives the seeds from this function's text
        run(seed)

    drawn: Callable[[], None] = settings(
        max_examples=examples,
        derandomize=derandomize,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )(given(SEEDS)(run_seed))
    drawn()


class Endings:
    """Counts how operations ended."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, result: Result) -> None:
        kind = "nothing" if result.data is None else "partial" if result.errors else "whole"
        self._counts[kind if result.stage is Stage.EXECUTION else result.stage] += 1

    def assert_varied(self, examples: int, rare: Collection[str] = ()) -> None:
        """Assert that each kind of result was at least 1% of the examples, or at least one if it is
        in `rare`."""
        assert self._counts.total() >= examples
        for kind in ("whole", "partial", "nothing", Stage.VARIABLES, Stage.VALIDATION):
            enough = 1 if kind in rare else examples / 100
            assert self._counts[kind] >= enough, self._counts


def assert_planned(counters: Counters, examples: int) -> None:
    """Assert that the engine ran most operations itself, and began all others with a plan."""
    assert set(counters.bailed_out) <= {"awaitable_value"}  # items of `gossip`
    # A document that is executed again is delegated for the reason for which it bailed out.
    assert set(counters.delegated) <= set(counters.bailed_out)
    assert counters.planned > examples / 2

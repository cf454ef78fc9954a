"""The settings of relationships: their limits and rules, and affinity."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import PlainValidator
from pydantic_settings import NoDecode

from gateway.settings.fields import (
    A_DAY_S,
    Group,
    Switch,
    WholeNumber,
    number,
    setting,
    switch,
)
from gateway.settings.parsers import (
    parse_weights,
)
from graph.affinity import InteractionKind

Weights = Annotated[Mapping[InteractionKind, float], NoDecode, PlainValidator(parse_weights)]


class RelationshipVariables(Group):
    """Relationships"""

    following_max: WholeNumber = number(
        "KITH_FOLLOWING_LIMIT", 1_000, "users that one account may follow", unit="users", minimum=1
    )
    blocks_max: WholeNumber = number(
        "KITH_BLOCK_LIMIT", 10_000, "users that one account may block", unit="users", minimum=1
    )
    changes_per_minute: WholeNumber = number(
        "KITH_CHANGES_PER_MINUTE",
        120,
        "sustained rate of changes per account",
        minimum=1,
        maximum=60_000_000,
        unit="changes a minute",
    )
    changes_burst: WholeNumber = number(
        "KITH_CHANGES_BURST",
        300,
        "changes per account at once",
        unit="changes",
        minimum=1,
        maximum=1_000_000,
    )
    mutual_approval: Switch = switch(
        "KITH_MUTUAL_APPROVAL",
        False,
        "whether every account approves its followers, and then both follow each other",
    )
    whispers_hidden: Switch = switch(
        "KITH_WHISPERS_HIDDEN_FROM_TARGET",
        False,
        "whether a [whisper](whispers.md) is hidden from the followed user too; set it for workers"
        " too, which then keep whispers out of that user's events",
    )
    undo_s: WholeNumber = number(
        "KITH_UNDO_S",
        900,
        "how long a change can be [undone](undo.md); set it for workers too, which then purge the"
        " messages of requests",
        minimum=1,
        maximum=A_DAY_S,
        unit="s",
    )


class AffinityVariables(Group):
    """Affinity

    How [interactions](affinity.md) count.
    """

    weights: Weights = setting(
        "KITH_AFFINITY_WEIGHTS",
        {},
        "weights that replace the defaults of single kinds",
        allowed="`LIKED=3,MESSAGED=7.5`",
    )
    half_life_days: WholeNumber = number(
        "KITH_AFFINITY_HALF_LIFE_DAYS",
        30,
        "half-life of an interaction's weight; permanent after the first recorded interaction",
        minimum=1,
        maximum=36_500,
        unit="days",
    )

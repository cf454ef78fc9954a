"""How Citus places the rows of each table. Plain PostgreSQL holds all rows on one machine."""

from collections.abc import Mapping
from types import MappingProxyType

SHARDS = 128
"""Shards of a space on Citus, unless `migrate` names another number. A shard is on one machine, so
a space can grow to as many machines."""

DISTRIBUTED: Mapping[str, str] = MappingProxyType(
    {
        "following": "from_user_id",
        "follower": "to_user_id",
        "following_count": "user_id",
        "follower_count": "user_id",
        "outbox": "from_user_id",
        "receipt": "actor_id",
        "affinity": "user_id",
        "affinity_count": "user_id",
        "private_note": "author_id",
        "follow_group": "user_id",
        "follow_group_member": "user_id",
        "pinned_following": "user_id",
        "bulk_operation": "operation_key",
        "bulk_slice": "operation_key",
    }
)
"""The distributed tables and the column that places their rows: the user whose data it is, or the
bulk operation. All are colocated, so that the rows of one user, or of one operation, are on one
machine."""

REFERENCE = frozenset(
    {
        "account",
        "bulk_load",
        "canary",
        "function",
        "lane_count",
        "migration",
        "space",
        "verification",
        "webhook_delivery",
        "webhook_endpoint",
    }
)
"""Reference tables: every machine holds all of their rows, so that any statement can join them."""

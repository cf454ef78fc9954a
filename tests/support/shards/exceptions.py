"""The known violations. The list only shrinks: an entry that nothing needs any more is an error."""

from collections.abc import Iterable, Mapping

from tests.support.shards.rules import Violation

EXCEPTIONS: Mapping[str, frozenset[str]] = {
    "absent_follower_counts.update_counts": frozenset({"outer_join"}),
    "account_states.states": frozenset({"outer_join"}),
    "affinity.forget": frozenset({"lock"}),
    "affinity.record": frozenset({"outer_join"}),
    "affinity.take_crowded": frozenset({"lock"}),
    "canaries.answer_canaries": frozenset({"volatile"}),
    "edges.read_pair": frozenset({"join", "outer_join"}),
    "lanes.move_changes": frozenset({"volatile"}),
    "lists.followers_newer": frozenset({"limited_lateral"}),
    "lists.followers_older": frozenset({"limited_lateral"}),
    "lists.following_newer": frozenset({"limited_lateral"}),
    "lists.following_older": frozenset({"limited_lateral"}),
    "lists.friends_newer": frozenset({"join"}),
    "lists.friends_older": frozenset({"join"}),
    "load_segment.mirror": frozenset({"outer_join"}),
    "load_segment.pick": frozenset({"join", "outer_join"}),
    "outbox.apply_lane": frozenset({"limited_lateral", "outbox_order", "outer_join"}),
    "outbox.dirty_lanes": frozenset({"limited_lateral", "outbox_order"}),
    "outbox.oldest": frozenset({"outbox_order"}),
    "outbox.outbox_state": frozenset({"join", "outbox_order"}),
    "outbox.parked": frozenset({"outbox_order"}),
    "outbox.shares": frozenset({"limited_lateral", "outbox_order", "recursion"}),
    "outbox.unapplied": frozenset({"outbox_order"}),
    "outbox.watermarks": frozenset({"join", "outbox_order"}),
    "overlaps.blocked_counts": frozenset({"limited_lateral"}),
    "overlaps.followers_followed": frozenset({"join"}),
    "overlaps.following_followed": frozenset({"join"}),
    "profiles.absent": frozenset({"join", "limited_lateral", "outer_join"}),
    "profiles.profiles": frozenset({"outer_join"}),
    "purge.purge_forward": frozenset({"lock"}),
    "purge.purge_messages": frozenset({"lock"}),
    "purge.purge_receipts": frozenset({"lock"}),
    "purge.purge_reverse": frozenset({"join", "lock"}),
    "relations.all_relations": frozenset({"join"}),
    "relations.relations": frozenset({"join"}),
    "repair.erase_again": frozenset({"volatile"}),
    "repair.lock_counts": frozenset({"lock"}),
    "repair.repair_reverse": frozenset({"join", "outer_join"}),
    "usage.usage": frozenset({"outer_join"}),
    "verify.compare_counts": frozenset({"join", "outer_join"}),
    "verify.compare_forward": frozenset({"outer_join"}),
    "verify.compare_reverse": frozenset({"outer_join"}),
    "verify.find_unerased": frozenset({"join"}),
    "write_decision()": frozenset({"lock", "shard"}),
}


def unexpected(violations: Iterable[Violation]) -> list[str]:
    """One line for each violation without an exception, and for each exception without a
    violation."""
    found = list(violations)
    lines = [str(v) for v in found if v.rule not in EXCEPTIONS.get(v.statement, ())]
    seen = {(v.statement, v.rule) for v in found}
    lines += [
        f"{statement}: nothing violates {rule} any more. Delete it from exceptions.py."
        for statement, rules in EXCEPTIONS.items()
        for rule in sorted(rules)
        if (statement, rule) not in seen
    ]
    return lines

"""Digests of both directions leave the buckets in which they differ."""

from storage.postgres.verification.digests import BUCKETS, Digests

SOME = ([5, 8, BUCKETS - 1], [77, -3, -(2**63)])


def digests(*read: tuple[list[int], list[int]]) -> Digests:
    found = Digests()
    for buckets, bits in read:
        found.add(buckets, bits)
    return found


def test_directions_with_the_same_rows_have_no_suspicious_cell() -> None:
    assert digests(SOME, ([BUCKETS - 1, 5], [-(2**63), 77]), ([8], [-3])).suspicious() is None


def test_the_bit_of_a_cell_that_differs_is_set_as_get_bit_reads_it() -> None:
    bitmap = digests(SOME, ([5, BUCKETS - 1], [77, 1])).suspicious()
    assert bitmap is not None
    bits = [bucket for bucket in range(BUCKETS) if bitmap[bucket // 8] >> bucket % 8 & 1]
    assert bits == [8, BUCKETS - 1]

"""The buckets in which the digests of forward rows and reverse rows differ."""

from storage.postgres.verification.digests import BUCKETS, Digests

FORWARD = ([5, 8, BUCKETS - 1], [77, -3, -(2**63)])


def digests(*read: tuple[list[int], list[int]]) -> Digests:
    found = Digests()
    for buckets, bits in read:
        found.add(buckets, bits)
    return found


def test_no_bucket_is_suspicious_if_both_directions_have_the_same_rows() -> None:
    assert digests(FORWARD, ([BUCKETS - 1, 5], [-(2**63), 77]), ([8], [-3])).suspicious() is None


def test_the_bitmap_has_the_bits_of_differing_buckets_in_the_order_of_get_bit() -> None:
    bitmap = digests(FORWARD, ([5, BUCKETS - 1], [77, 1])).suspicious()
    assert bitmap is not None
    bits = [bucket for bucket in range(BUCKETS) if bitmap[bucket // 8] >> bucket % 8 & 1]
    assert bits == [8, BUCKETS - 1]

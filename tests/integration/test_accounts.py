"""What the store of accounts promises, cached or not; and the races of its cache, step by step."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

import pytest

from graph.account import DEFAULT, Account, PrivacyChange, Saved
from graph.counts import NO_COUNTS, Counts
from graph.decision import Outcome
from graph.edge import UserId
from graph.errors import Unavailable
from graph.pace import Pace
from graph.page import ListKind
from graph.receipt import AlreadyNoted, Request, keyed_id
from graph.visibility import Audience, Privacy
from storage.plain_profiles import PlainColumn, PlainProfiles
from storage.ports import Accounts, Profile, Profiles
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.outbox import PostgresPending
from storage.postgres.profiles import PostgresProfiles
from storage.redis import packing
from storage.redis.accounts import CachedAccounts
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.own_writes import OwnWrites
from storage.redis.profiles import CachedProfiles
from storage.settings import StorageSettings
from storage.shielded_tasks import ShieldedTasks
from storage.stores import Stores, open_stores
from tests.support.graphs import drain_all, follows, users

DEADLINE_S = 20
LEASE_MS = 60_000  # no lease ends by itself in here, however slow the machine is
KEYS = Keys("public")
ONE, TWO, THREE = users(1, 2, 3)
PROTECTED = PrivacyChange(protected=True)
CLOSED = Account(Privacy(protected=True))
ALL_COUNTS = Counts(*range(1, 12))
TOTALS = (
    Counts(1, 2, 2**62),
    Counts(1, 2, 3, mutes=4),
    ALL_COUNTS,
    ALL_COUNTS._replace(absent=Counts(*range(11))),
    NO_COUNTS._replace(absent=NO_COUNTS),
)


@pytest.fixture(params=["tables", "cached", "cached, Redis is down"])
async def accounts(
    request: pytest.FixtureRequest, storage_settings: StorageSettings
) -> AsyncIterator[Accounts]:
    settings = storage_settings
    if request.param == "cached, Redis is down":
        settings = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with open_stores(settings) as stores:
        yield PostgresAccounts(stores.postgres) if request.param == "tables" else stores.accounts


async def test_nearly_everybody_has_said_nothing(accounts: Accounts) -> None:
    for _ in range(2):
        assert await accounts.of([ONE, TWO, ONE]) == {ONE: DEFAULT, TWO: DEFAULT}
    assert await accounts.of([]) == {}


async def test_what_is_not_named_stays_as_it_was(accounts: Accounts) -> None:
    await accounts.of([ONE])
    only_me = PrivacyChange(following=Audience.ONLY_ME, followers=Audience.FRIENDS)
    first = (await accounts.set_privacy(ONE, only_me)).account
    assert first.privacy == Privacy(following=Audience.ONLY_ME, followers=Audience.FRIENDS)
    limited = (await accounts.set_following_limit(ONE, 0)).account
    assert limited == Account(first.privacy, following_limit=0)
    then = (await accounts.set_privacy(ONE, PROTECTED)).account
    assert then == Account(replace(first.privacy, protected=True), following_limit=0)
    assert await accounts.of([ONE, TWO]) == {ONE: then, TWO: DEFAULT}
    await accounts.set_following_limit(ONE, None)
    opened = PrivacyChange(False, Audience.EVERYONE, Audience.EVERYONE)
    assert await accounts.set_privacy(ONE, opened) == Saved(Outcome.UPDATED, DEFAULT)
    assert await accounts.of([ONE]) == {ONE: DEFAULT}
    assert await accounts.set_privacy(ONE, opened) == Saved(Outcome.UNCHANGED, DEFAULT)


async def test_of_many_changes_at_once_each_keeps_the_others(accounts: Accounts) -> None:
    await asyncio.gather(
        accounts.set_privacy(ONE, PROTECTED),
        accounts.set_privacy(ONE, PrivacyChange(following=Audience.FRIENDS)),
        accounts.set_privacy(ONE, PrivacyChange(followers=Audience.ONLY_ME)),
        accounts.set_following_limit(ONE, 7),
    )
    privacy = Privacy(True, Audience.FRIENDS, Audience.ONLY_ME)
    assert await accounts.of([ONE]) == {ONE: Account(privacy, 7)}


async def test_a_receipt_is_written_with_its_change_or_neither_is(
    accounts: Accounts, stores: Stores
) -> None:
    request = Request(ONE, keyed_id("k"), b"asked")
    first = await accounts.set_privacy(ONE, PROTECTED, request)
    kept = (await stores.receipts.of(ONE, [request.id]))[request.id]
    assert (kept.receipt.asked, kept.receipt.outcome) == (b"asked", first.outcome)
    assert (kept.other, kept.receipt.taken) == (ONE, None)
    for again in (
        accounts.set_privacy(ONE, PrivacyChange(protected=False), request),
        accounts.set_following_limit(ONE, 7, request),
    ):
        with pytest.raises(AlreadyNoted):
            await again
    assert await accounts.of([ONE]) == {ONE: CLOSED}


async def test_who_changes_too_much_too_fast_is_told_when_to_go_on(
    accounts: Accounts, stores: Stores
) -> None:
    pace = Pace(interval_us=60_000_000, burst=2)
    opened, request = PrivacyChange(protected=False), Request(ONE, keyed_id("k"), b"asked")
    await accounts.set_privacy(ONE, PROTECTED, pace=pace)
    unchanged = [await accounts.set_privacy(ONE, PROTECTED, pace=pace) for _ in range(3)]
    assert unchanged == [Saved(Outcome.UNCHANGED, CLOSED)] * 3, "which costs nothing"
    await accounts.set_privacy(ONE, opened, pace=pace)
    for asked, change in ((None, PROTECTED), (request, PROTECTED), (request, opened)):
        refused = await accounts.set_privacy(ONE, change, asked, pace)
        assert (refused.outcome, refused.account) == (Outcome.RATE_LIMITED, DEFAULT)
        assert refused.retry_at is not None
    assert await accounts.of([ONE]) == {ONE: DEFAULT}
    assert await stores.receipts.of(ONE, [request.id]) == {}


@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("limit", [None, 0, 1, 2**31 - 1])
def test_a_cached_profile_is_what_was_packed(
    protected: bool, present: bool, limit: int | None
) -> None:
    for following in Audience:
        for followers in Audience:
            account = Account(Privacy(protected, following, followers, present), limit)
            profiles = [Profile(account, counts) for counts in (NO_COUNTS, *TOTALS)]
            values = list(map(packing.profile_value, profiles))
            assert packing.profiles_in(values) == profiles
            assert packing.profiles_in(values[:1]) == profiles[:1]
            assert list(packing.profile_column(values)) == profiles
            assert list(packing.profile_column(values[:1])) == profiles[:1]
            assert packing.accounts_in(values) == [account] * len(values)


def test_profiles_of_nothing_but_three_totals_are_columns_of_these() -> None:
    profiles = [Profile(DEFAULT, Counts(n, n + 1, n + 2)) for n in range(3)]
    values = list(map(packing.profile_value, profiles))
    column = packing.profile_column(values)
    assert isinstance(column, PlainColumn)
    assert column.totals[ListKind.FOLLOWERS] == [1, 2, 3]
    assert list(column) == profiles
    by_user = PlainProfiles([ONE, TWO, THREE], column)
    assert by_user == dict(zip([ONE, TWO, THREE], profiles, strict=True))
    assert THREE in by_user
    assert 7 not in by_user
    blocked = packing.profile_value(Profile(DEFAULT, Counts(1, 2, 3, blocked=1)))
    assert not isinstance(packing.profile_column([*values, blocked]), PlainColumn)


def test_nearly_everybodys_profile_is_short_and_their_account_one_object() -> None:
    value = packing.profile_value(Profile(DEFAULT, Counts(1, 2, 3)))
    assert len(value) == 25
    (profile,) = packing.profiles_in([value])
    assert profile.account is DEFAULT
    assert packing.profiles_in([]) == []


class Stop:
    """Whoever is done stops here, unanswered, until they are let go."""

    def __init__(self) -> None:
        self.done, self.go = asyncio.Event(), asyncio.Event()

    async def stop(self) -> None:
        self.done.set()
        await self.go.wait()


class GatedProfiles(Stop):
    """Profiles whose reads stop."""

    def __init__(self, inner: Profiles) -> None:
        super().__init__()
        self._inner = inner

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Profile]:
        found = await self._inner.of(users, viewer)
        await self.stop()
        return found


class Gated(Stop):
    """Accounts whose writes stop."""

    def __init__(self, inner: Accounts) -> None:
        super().__init__()
        self._inner = inner

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        return await self._inner.of(users)

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        saved = await self._inner.set_privacy(user, change, request, pace)
        await self.stop()
        return saved

    async def set_following_limit(
        self, user: UserId, limit: int | None, request: Request | None = None
    ) -> Saved:
        raise NotImplementedError


class Broken(Gated):
    """Accounts of which a writer never hears whether they were written."""

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        await self._inner.set_privacy(user, change, request, pace)
        raise Unavailable("PostgreSQL")


def cached(inner: Accounts, stores: Stores, profiles: Profiles | None = None) -> CachedAccounts:
    leases = Leases(stores.redis, LEASE_MS, 1)
    own = OwnWrites(PostgresPending(stores.postgres), stores.redis, leases, KEYS, 60)
    profiles = profiles or PostgresProfiles(stores.postgres)
    both = CachedProfiles(profiles, own, KEYS, 3600)
    return CachedAccounts(inner, both, stores.redis, KEYS, stores.events, ShieldedTasks())


@pytest.fixture
def tables(stores: Stores) -> Accounts:
    return PostgresAccounts(stores.postgres)


async def test_an_old_read_does_not_overwrite_a_newer_write(
    stores: Stores, tables: Accounts
) -> None:
    slow = GatedProfiles(PostgresProfiles(stores.postgres))
    reading = asyncio.create_task(cached(tables, stores, slow).of([ONE]))
    async with asyncio.timeout(DEADLINE_S):
        await slow.done.wait()
        await stores.accounts.set_privacy(ONE, PROTECTED)
        slow.go.set()
        assert await reading == {ONE: DEFAULT}
    assert await stores.accounts.of([ONE]) == {ONE: CLOSED}


async def test_while_somebody_writes_nobody_remembers(stores: Stores, tables: Accounts) -> None:
    """Although what else the same value says has changed meanwhile, and was forgotten."""
    await stores.accounts.of([ONE])
    slow = Gated(tables)
    writing = asyncio.create_task(cached(slow, stores).set_privacy(ONE, PROTECTED))
    async with asyncio.timeout(DEADLINE_S):
        await slow.done.wait()
        await follows(stores, (1, 2))
        await drain_all(stores)
        for _ in range(2):
            assert await stores.accounts.of([ONE]) == {ONE: CLOSED}
        (value,) = await stores.redis.pipe([("GET", KEYS.profile(ONE))])
        assert value is None
        slow.go.set()
        await writing
    assert await stores.accounts.of([ONE]) == {ONE: CLOSED}
    (value,) = await stores.redis.pipe([("GET", KEYS.profile(ONE))])
    assert packing.accounts_in([value]) == [CLOSED]


@pytest.mark.parametrize("last", [0, 1], ids=["the first ends last", "the second ends last"])
async def test_a_writer_who_ends_leaves_closed_what_another_has_closed(
    stores: Stores, tables: Accounts, last: int
) -> None:
    writers = [Gated(tables), Gated(tables)]
    changes = [PROTECTED, PrivacyChange(following=Audience.FRIENDS)]
    writing = []
    async with asyncio.timeout(DEADLINE_S):
        for writer, change in zip(writers, changes, strict=True):
            writing.append(asyncio.create_task(cached(writer, stores).set_privacy(ONE, change)))
            await writer.done.wait()
        for turn, remembered in ((1 - last, False), (last, True)):
            writers[turn].go.set()
            await writing[turn]
            assert (await stores.accounts.of([ONE]))[ONE].privacy.protected
            (value,) = await stores.redis.pipe([("GET", KEYS.profile(ONE))])
            assert bool(value) is remembered


async def test_a_writer_who_dies_after_the_commit_leaves_nothing_old(
    stores: Stores, tables: Accounts
) -> None:
    await stores.accounts.of([ONE])
    with pytest.raises(Unavailable):
        await cached(Broken(tables), stores).set_privacy(ONE, PROTECTED)
    assert await stores.accounts.of([ONE]) == {ONE: CLOSED}


async def test_a_writer_who_hangs_up_has_written_all_the_same(
    stores: Stores, tables: Accounts
) -> None:
    slow = Gated(tables)
    await stores.accounts.of([ONE])
    writing = asyncio.create_task(cached(slow, stores).set_privacy(ONE, PROTECTED))
    async with asyncio.timeout(DEADLINE_S):
        await slow.done.wait()
        writing.cancel()
        slow.go.set()
        await asyncio.wait([writing])
        while KEYS.profile(ONE).encode() not in (await stores.redis.pipe([("KEYS", "*")]))[0]:
            assert await stores.accounts.of([ONE]) == {ONE: CLOSED}


async def test_an_audit_finds_an_account_that_is_wrong(stores: Stores) -> None:
    await stores.accounts.of([ONE, TWO])
    await stores.postgres.fetch("INSERT INTO account (user_id, protected) VALUES (1, true)")
    audited = [batch async for batch in stores.audit.batches()]
    assert sum(batch.compared for batch in audited) == 2
    wrong = [key for batch in audited for key in batch.wrong]
    assert wrong == [KEYS.profile(ONE)]
    await stores.audit.forget(wrong)
    assert await stores.accounts.of([ONE]) == {ONE: CLOSED}

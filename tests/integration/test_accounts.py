"""Account settings from the tables and from the cache, and the races of the cache."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

import pytest

from graph.account import DEFAULT, Account, PrivacyChange, Saved
from graph.counts import NO_COUNTS, Counts
from graph.edge import UserId
from graph.errors import Unavailable
from graph.lists import ListKind
from graph.outcome import Outcome
from graph.pace import Pace
from graph.privacy import Audience, Privacy
from graph.profile import PlainColumn, PlainProfiles, Profile
from graph.receipt import IdempotentRequest, ReceiptExists, keyed_id
from storage.cache.codec.profiles import accounts_in, profile_column, profile_value, profiles_in
from storage.cache.reader import CacheReader
from storage.cache.tables import ProfileRows
from storage.ports.accounts import AccountWrites
from storage.ports.reader import AccountsOf, Consistency, Reader
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.profiles import PostgresProfiles
from storage.redis.keys import Keys
from storage.settings import LeaseSettings, StorageSettings
from storage.shielded_tasks import ShieldedTasks
from storage.stores import Stores, open_stores
from storage.wiring.caches import tables_of
from storage.write_through.accounts import WriteThroughAccounts
from tests.support import citus
from tests.support.graphs import drain_all, follows, users
from tests.support.readers import Reading

DEADLINE_S = citus.deadline_s(20)
LEASE_MS = 60_000  # longer than any test, so that no lease expires
KEYS = Keys("public")
ONE, TWO, THREE = users(1, 2, 3)
PROTECTED = PrivacyChange(protected=True)
PROTECTED_ACCOUNT = Account(Privacy(protected=True))
ALL_COUNTS = Counts(*range(1, 12))
TOTALS = (
    Counts(1, 2, 2**62),
    Counts(1, 2, 3, mutes=4),
    ALL_COUNTS,
    ALL_COUNTS._replace(absent=Counts(*range(11))),
    NO_COUNTS._replace(absent=NO_COUNTS),
)


class SettingsStore:
    """Reads and writes account settings. `is_delayed`: what `Saved.is_delayed` must be."""

    def __init__(
        self,
        writes: AccountWrites,
        reader: Reader,
        consistency: Consistency,
        *,
        is_delayed: bool = False,
    ) -> None:
        self.is_delayed = is_delayed
        self.get_many = Reading(reader, consistency).accounts
        self.set_privacy = writes.set_privacy
        self.set_following_limit = writes.set_following_limit


@pytest.fixture(params=["tables", "cached", "cached, Redis is down"])
async def accounts(
    request: pytest.FixtureRequest, storage_settings: StorageSettings
) -> AsyncIterator[SettingsStore]:
    settings = storage_settings
    if request.param == "cached, Redis is down":
        settings = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with open_stores(settings) as stores:
        consistency = Consistency.ROWS if request.param == "tables" else Consistency.FRESH
        is_delayed = settings is not storage_settings
        yield SettingsStore(
            stores.writes.accounts, stores.reads.reader, consistency, is_delayed=is_delayed
        )


async def test_a_user_without_settings_has_the_default_account(accounts: SettingsStore) -> None:
    for _ in range(2):
        assert await accounts.get_many([ONE, TWO, ONE]) == {ONE: DEFAULT, TWO: DEFAULT}
    assert await accounts.get_many([]) == {}


async def test_settings_that_are_not_given_stay_unchanged(accounts: SettingsStore) -> None:
    await accounts.get_many([ONE])
    only_me = PrivacyChange(following=Audience.ONLY_ME, followers=Audience.FRIENDS)
    first = (await accounts.set_privacy(ONE, only_me)).account
    assert first.privacy == Privacy(following=Audience.ONLY_ME, followers=Audience.FRIENDS)
    limited = (await accounts.set_following_limit(ONE, 0)).account
    assert limited == Account(first.privacy, following_limit=0)
    protected = (await accounts.set_privacy(ONE, PROTECTED)).account
    assert protected == Account(replace(first.privacy, protected=True), following_limit=0)
    assert await accounts.get_many([ONE, TWO]) == {ONE: protected, TWO: DEFAULT}
    await accounts.set_following_limit(ONE, None)
    opened = PrivacyChange(False, Audience.EVERYONE, Audience.EVERYONE)
    is_delayed = accounts.is_delayed
    updated = Saved(Outcome.UPDATED, DEFAULT, is_delayed=is_delayed)
    assert await accounts.set_privacy(ONE, opened) == updated
    assert await accounts.get_many([ONE]) == {ONE: DEFAULT}
    unchanged = Saved(Outcome.UNCHANGED, DEFAULT, is_delayed=is_delayed)
    assert await accounts.set_privacy(ONE, opened) == unchanged


async def test_concurrent_changes_of_different_settings_are_all_kept(
    accounts: SettingsStore,
) -> None:
    await asyncio.gather(
        accounts.set_privacy(ONE, PROTECTED),
        accounts.set_privacy(ONE, PrivacyChange(following=Audience.FRIENDS)),
        accounts.set_privacy(ONE, PrivacyChange(followers=Audience.ONLY_ME)),
        accounts.set_following_limit(ONE, 7),
    )
    privacy = Privacy(True, Audience.FRIENDS, Audience.ONLY_ME)
    assert await accounts.get_many([ONE]) == {ONE: Account(privacy, 7)}


async def test_a_receipt_is_written_with_its_change_or_neither_is(
    accounts: SettingsStore, stores: Stores
) -> None:
    request = IdempotentRequest(ONE, keyed_id("k"), b"asked")
    first = await accounts.set_privacy(ONE, PROTECTED, request)
    stored = (await stores.writes.receipts.get_many(ONE, [request.id]))[request.id]
    assert (stored.receipt.digest, stored.receipt.outcome) == (b"asked", first.outcome)
    assert (stored.other, stored.receipt.undo) == (ONE, None)
    for again in (
        accounts.set_privacy(ONE, PrivacyChange(protected=False), request),
        accounts.set_following_limit(ONE, 7, request),
    ):
        with pytest.raises(ReceiptExists):
            await again
    assert await accounts.get_many([ONE]) == {ONE: PROTECTED_ACCOUNT}


async def test_changes_beyond_the_rate_limit_are_rejected_with_a_time_to_retry(
    accounts: SettingsStore, stores: Stores
) -> None:
    pace = Pace(interval_us=60_000_000, burst=2)
    opened, request = (
        PrivacyChange(protected=False),
        IdempotentRequest(ONE, keyed_id("k"), b"asked"),
    )
    await accounts.set_privacy(ONE, PROTECTED, pace=pace)
    unchanged = [await accounts.set_privacy(ONE, PROTECTED, pace=pace) for _ in range(3)]
    expected = Saved(Outcome.UNCHANGED, PROTECTED_ACCOUNT, is_delayed=accounts.is_delayed)
    assert unchanged == [expected] * 3, "changes without an effect do not count"
    await accounts.set_privacy(ONE, opened, pace=pace)
    for receipt_request, change in ((None, PROTECTED), (request, PROTECTED), (request, opened)):
        rejected = await accounts.set_privacy(ONE, change, receipt_request, pace)
        assert (rejected.outcome, rejected.account) == (Outcome.RATE_LIMITED, DEFAULT)
        assert rejected.retry_at is not None
    assert await accounts.get_many([ONE]) == {ONE: DEFAULT}
    assert await stores.writes.receipts.get_many(ONE, [request.id]) == {}


@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("limit", [None, 0, 1, 2**31 - 1])
def test_profiles_are_equal_after_packing_and_unpacking(
    protected: bool, present: bool, limit: int | None
) -> None:
    for following in Audience:
        for followers in Audience:
            account = Account(Privacy(protected, following, followers, present), limit)
            profiles = [Profile(account, counts) for counts in (NO_COUNTS, *TOTALS)]
            values = list(map(profile_value, profiles))
            assert profiles_in(values) == profiles
            assert profiles_in(values[:1]) == profiles[:1]
            assert list(profile_column(values)) == profiles
            assert list(profile_column(values[:1])) == profiles[:1]
            assert accounts_in(values) == [account] * len(values)


def test_profiles_with_three_totals_and_default_settings_make_a_plain_column() -> None:
    profiles = [Profile(DEFAULT, Counts(n, n + 1, n + 2)) for n in range(3)]
    values = list(map(profile_value, profiles))
    column = profile_column(values)
    assert isinstance(column, PlainColumn)
    assert column.totals[ListKind.FOLLOWERS] == [1, 2, 3]
    assert list(column) == profiles
    by_user = PlainProfiles([ONE, TWO, THREE], column)
    assert by_user == dict(zip([ONE, TWO, THREE], profiles, strict=True))
    assert THREE in by_user
    assert 7 not in by_user
    blocked = profile_value(Profile(DEFAULT, Counts(1, 2, 3, blocked=1)))
    assert not isinstance(profile_column([*values, blocked]), PlainColumn)


def test_a_profile_with_default_settings_takes_25_bytes_and_shares_its_account() -> None:
    value = profile_value(Profile(DEFAULT, Counts(1, 2, 3)))
    assert len(value) == 25
    (profile,) = profiles_in([value])
    assert profile.account is DEFAULT
    assert profiles_in([]) == []


class Gate:
    """Holds a finished call back until the test sets `released`."""

    def __init__(self) -> None:
        self.finished, self.released = asyncio.Event(), asyncio.Event()

    async def wait(self) -> None:
        self.finished.set()
        await self.released.wait()


class GatedProfiles(Gate):
    """Profiles whose reads end when the test releases them."""

    def __init__(self, inner: ProfileRows) -> None:
        super().__init__()
        self._inner = inner

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Profile]:
        found = await self._inner.get_many(users, viewer)
        await self.wait()
        return found


class GatedAccounts(Gate):
    """AccountWrites whose writes return when the test releases them."""

    def __init__(self, inner: AccountWrites) -> None:
        super().__init__()
        self._inner = inner

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        saved = await self._inner.set_privacy(user, change, request, pace)
        await self.wait()
        return saved

    async def set_following_limit(
        self, user: UserId, limit: int | None, request: IdempotentRequest | None = None
    ) -> Saved:
        raise NotImplementedError


class FailingAccounts(GatedAccounts):
    """AccountWrites that raise Unavailable after the commit."""

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        await self._inner.set_privacy(user, change, request, pace)
        raise Unavailable("PostgreSQL")


def announced(inner: AccountWrites, stores: Stores) -> WriteThroughAccounts:
    return WriteThroughAccounts(
        inner, stores.servers.redis, KEYS, stores.broker.events, ShieldedTasks()
    )


@pytest.fixture
def tables(stores: Stores) -> AccountWrites:
    return PostgresAccounts(stores.servers.postgres)


async def test_a_read_from_before_a_write_does_not_fill_the_cache(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    slow = GatedProfiles(PostgresProfiles(stores.servers.postgres))
    settings = replace(
        storage_settings,
        cache=replace(storage_settings.cache, lease=LeaseSettings(ms=LEASE_MS)),
    )
    tables = replace(tables_of(stores.servers.postgres), profiles=slow)
    reader = CacheReader(settings, stores.servers.redis, tables)
    reading = asyncio.create_task(Reading(reader).accounts([ONE]))
    async with asyncio.timeout(DEADLINE_S):
        await slow.finished.wait()
        await stores.writes.accounts.set_privacy(ONE, PROTECTED)
        slow.released.set()
        assert await reading == {ONE: DEFAULT}
    assert await stores.reads.reader.read(None, AccountsOf([ONE])) == {ONE: PROTECTED_ACCOUNT}


async def test_an_account_is_not_cached_while_it_is_written(
    stores: Stores, tables: AccountWrites
) -> None:
    """Also if the totals, a part of the same cached value, are invalidated meanwhile."""
    await stores.reads.reader.read(None, AccountsOf([ONE]))
    slow = GatedAccounts(tables)
    writing = asyncio.create_task(announced(slow, stores).set_privacy(ONE, PROTECTED))
    async with asyncio.timeout(DEADLINE_S):
        await slow.finished.wait()
        await follows(stores, (1, 2))
        await drain_all(stores)
        for _ in range(2):
            assert await stores.reads.reader.read(None, AccountsOf([ONE])) == {
                ONE: PROTECTED_ACCOUNT
            }
        (value,) = await stores.servers.redis.pipe([("GET", KEYS.profile(ONE))])
        assert value is None
        slow.released.set()
        await writing
    assert await stores.reads.reader.read(None, AccountsOf([ONE])) == {ONE: PROTECTED_ACCOUNT}
    (value,) = await stores.servers.redis.pipe([("GET", KEYS.profile(ONE))])
    assert accounts_in([value]) == [PROTECTED_ACCOUNT]


@pytest.mark.parametrize("last", [0, 1], ids=["the first ends last", "the second ends last"])
async def test_a_profile_stays_closed_until_the_last_of_two_writers_ends(
    stores: Stores, tables: AccountWrites, last: int
) -> None:
    writers = [GatedAccounts(tables), GatedAccounts(tables)]
    changes = [PROTECTED, PrivacyChange(following=Audience.FRIENDS)]
    writing = []
    async with asyncio.timeout(DEADLINE_S):
        for writer, change in zip(writers, changes, strict=True):
            writing.append(asyncio.create_task(announced(writer, stores).set_privacy(ONE, change)))
            await writer.finished.wait()
        for turn, is_cached in ((1 - last, False), (last, True)):
            writers[turn].released.set()
            await writing[turn]
            assert (await stores.reads.reader.read(None, AccountsOf([ONE])))[ONE].privacy.protected
            (value,) = await stores.servers.redis.pipe([("GET", KEYS.profile(ONE))])
            assert bool(value) is is_cached


async def test_an_error_after_the_commit_leaves_no_stale_account_in_the_cache(
    stores: Stores, tables: AccountWrites
) -> None:
    await stores.reads.reader.read(None, AccountsOf([ONE]))
    with pytest.raises(Unavailable):
        await announced(FailingAccounts(tables), stores).set_privacy(ONE, PROTECTED)
    assert await stores.reads.reader.read(None, AccountsOf([ONE])) == {ONE: PROTECTED_ACCOUNT}


async def test_a_write_is_completed_and_visible_if_the_client_disconnects(
    stores: Stores, tables: AccountWrites
) -> None:
    slow = GatedAccounts(tables)
    await stores.reads.reader.read(None, AccountsOf([ONE]))
    writing = asyncio.create_task(announced(slow, stores).set_privacy(ONE, PROTECTED))
    async with asyncio.timeout(DEADLINE_S):
        await slow.finished.wait()
        writing.cancel()
        slow.released.set()
        await asyncio.wait([writing])
        while (
            KEYS.profile(ONE).encode() not in (await stores.servers.redis.pipe([("KEYS", "*")]))[0]
        ):
            assert await stores.reads.reader.read(None, AccountsOf([ONE])) == {
                ONE: PROTECTED_ACCOUNT
            }


async def test_the_audit_of_the_caches_finds_and_deletes_a_stale_account(stores: Stores) -> None:
    await stores.reads.reader.read(None, AccountsOf([ONE, TWO]))
    await stores.servers.postgres.fetch("INSERT INTO account (user_id, protected) VALUES (1, true)")
    audited = [batch async for batch in stores.caches.verifier.batches()]
    assert sum(batch.compared for batch in audited) == 2
    wrong = [key for batch in audited for key in batch.wrong]
    assert wrong == [KEYS.profile(ONE)]
    await stores.caches.verifier.delete(wrong)
    assert await stores.reads.reader.read(None, AccountsOf([ONE])) == {ONE: PROTECTED_ACCOUNT}

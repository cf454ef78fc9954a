"""Absent accounts while PostgreSQL cannot be reached: the absence log in Redis."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from graph.account_state import AccountState
from graph.edge import UserId
from graph.errors import Unavailable
from storage.ports.accounts import AbsenceLog, Absences
from storage.postgres import absences as postgres_absences
from storage.redis import absence_log
from storage.redis.absence_log import RedisAbsenceLog
from storage.redis.keys import Keys
from storage.settings import LocalSettings, StorageSettings
from storage.stores import Stores, open_stores
from tests.support.valkey import running_valkey
from tests.support.waiting import until

ONE, TWO = UserId(8), UserId(9)
KEY = Keys("public").absences
NOWHERE = "unix:///nowhere.sock"


@pytest.fixture
async def strict(storage_settings: StorageSettings) -> AsyncIterator[Stores]:
    """Stores that look for absent accounts whenever these are needed, and have read them once."""
    settings = replace(storage_settings, local=LocalSettings(absent_age_ms=0))
    async with open_stores(settings) as opened:
        assert await opened.reads.absences.now() == set()
        yield opened


@pytest.fixture
def log(stores: Stores) -> AbsenceLog:
    return RedisAbsenceLog(stores.servers.broker, Keys("public"))


@contextmanager
def unreachable(part: object, operation: str) -> Iterator[None]:
    """Let an operation of PostgreSQL or Redis fail."""

    async def fail(*_: object) -> None:
        raise Unavailable(type(part).__name__)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(part, operation, fail)
        yield


async def entries(stores: Stores) -> int:
    (length,) = await stores.servers.broker.pipe([("XLEN", KEY)])
    return int(length)


async def test_the_last_known_absences_are_used_while_postgresql_is_unavailable(
    strict: Stores,
) -> None:
    await strict.writes.account_states.change(ONE, AccountState.DEACTIVATED)
    assert await strict.reads.absences.now() == {ONE}
    with unreachable(strict.servers.postgres, "fetch"):
        assert await strict.reads.absences.now() == {ONE}


async def test_absences_that_cannot_be_known_are_unavailable(strict: Stores) -> None:
    absences: Absences = strict.reads.absences
    with unreachable(strict.servers.postgres, "fetch"):
        with unreachable(strict.servers.broker, "pipe"):
            for _ in range(2):  # reads PostgreSQL only the first time
                with pytest.raises(Unavailable):
                    await absences.now()
        assert await absences.now() == set()


async def test_an_old_set_is_not_used_between_two_reads_of_postgresql(
    strict: Stores, log: AbsenceLog
) -> None:
    """After a failed read, the next one of PostgreSQL waits, and the log is read nevertheless."""
    with unreachable(strict.servers.postgres, "fetch"):
        assert await strict.reads.absences.now() == set()
        await log.add(ONE)
        assert await strict.reads.absences.now() == {ONE}


async def test_a_logged_change_that_was_not_committed_hides_only_while_postgresql_is_unavailable(
    strict: Stores, log: AbsenceLog
) -> None:
    absences = strict.reads.absences
    with unreachable(strict.servers.postgres, "fetch"):
        await log.add(ONE)
        assert await absences.now() == {ONE}
    assert await absences.as_of(2**62) == set()
    await strict.writes.account_states.change(TWO, AccountState.DEACTIVATED)
    assert await absences.now() == {TWO}


async def test_a_change_long_before_the_last_read_is_not_taken_from_the_log(
    strict: Stores, log: AbsenceLog
) -> None:
    ((now_s, _),) = await strict.servers.broker.pipe([("TIME",)])
    old = f"{(int(now_s) - 60) * 1000}-0"
    await strict.servers.broker.pipe([("XADD", KEY, old, b"user", ONE)])
    await log.add(TWO)
    with unreachable(strict.servers.postgres, "fetch"):
        assert await strict.reads.absences.now() == {TWO}


async def test_a_log_that_may_have_dropped_changes_makes_absences_unavailable(
    strict: Stores, log: AbsenceLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absence_log, "ENTRIES_KEPT", 2)
    with unreachable(strict.servers.postgres, "fetch"):
        await log.add(ONE)
        assert await strict.reads.absences.now() == {ONE}
        await log.add(TWO)
        with pytest.raises(Unavailable):
            await strict.reads.absences.now()


async def test_the_log_is_written_before_the_commit_and_read_only_without_postgresql(
    strict: Stores, log: AbsenceLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, committed = RedisAbsenceLog.add, []

    async def add_and_look(self: RedisAbsenceLog, user: UserId) -> None:
        await add(self, user)
        (status,) = (await strict.writes.account_states.get_many([user])).values()
        committed.append(status.state)

    monkeypatch.setattr(RedisAbsenceLog, "add", add_and_look)
    change = strict.writes.account_states.change
    await change(ONE, AccountState.DEACTIVATED)
    await change(ONE, AccountState.DELETED)
    assert committed == [AccountState.ACTIVE, AccountState.DEACTIVATED]
    for rejected in (AccountState.ACTIVE, AccountState.DEACTIVATED):
        await change(ONE, rejected)
    await change(TWO, AccountState.ACTIVE)
    assert await entries(strict) == len(committed)
    before = strict.redis_round_trips
    assert await strict.reads.absences.now() == {ONE}
    assert strict.redis_round_trips == before


async def test_all_processes_find_one_epoch_until_the_log_is_lost(
    strict: Stores, stores: Stores, log: AbsenceLog
) -> None:
    other = RedisAbsenceLog(strict.servers.broker, Keys("public"))
    epoch = await log.epoch()
    await log.add(ONE)
    await strict.servers.broker.pipe([("XTRIM", KEY, "MAXLEN", 0)])
    assert await other.epoch() == await log.epoch() == epoch
    assert await log.since(1, epoch) == set()
    await strict.servers.broker.pipe([("UNLINK", KEY)])
    await log.add(TWO)
    assert await log.since(1, epoch) is None
    assert await entries(stores) == 1
    new = await log.epoch()
    assert new != epoch
    assert await other.epoch() == new
    assert await log.since(1, new) == {TWO}
    assert await log.since(1, epoch) is None


async def test_a_server_that_restarts_with_an_old_copy_makes_absences_unavailable(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    """The copy has the stream and its group, and lacks the last account."""
    async with running_valkey(tmp_path) as valkey:
        settings = replace(
            storage_settings, redis_url=valkey.url, local=LocalSettings(absent_age_ms=0)
        )
        async with open_stores(settings) as reader, open_stores(settings) as writer:
            assert await reader.reads.absences.now() == set()
            await valkey.save()
            with unreachable(reader.servers.postgres, "fetch"):
                await writer.writes.account_states.change(ONE, AccountState.DEACTIVATED)
                await valkey.kill()
                await valkey.start()

                async def answers() -> bool:
                    with suppress(Unavailable):
                        await reader.servers.broker.ping()
                        return True
                    return False

                await until(answers, "Redis answers")
                with pytest.raises(Unavailable):
                    await reader.reads.absences.now()
            assert await reader.reads.absences.as_of(2**62) == {ONE}


async def test_a_failed_read_of_postgresql_does_not_adopt_a_new_epoch(
    strict: Stores, log: AbsenceLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The set is of the time before the loss, and the new log lacks what was lost."""
    monkeypatch.setattr(postgres_absences, "EPOCH_AGE_S", 0)
    monkeypatch.setattr(postgres_absences, "RETRY_S", 0)
    with unreachable(strict.servers.postgres, "fetch"):
        assert await strict.reads.absences.now() == set()
        await strict.servers.broker.pipe([("UNLINK", KEY)])
        for _ in range(2):
            await log.epoch()
            with pytest.raises(Unavailable):
                await strict.reads.absences.now()
    assert await strict.reads.absences.now() == set()
    with unreachable(strict.servers.postgres, "fetch"):
        assert await strict.reads.absences.now() == set()


async def test_without_redis_the_set_is_read_from_postgresql_and_keeps_its_epoch(
    strict: Stores, log: AbsenceLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_absences, "EPOCH_AGE_S", 0)
    with unreachable(strict.servers.broker, "pipe"):
        assert await strict.reads.absences.now() == set()
    with unreachable(strict.servers.postgres, "fetch"):
        await log.add(ONE)
        assert await strict.reads.absences.now() == {ONE}


async def test_the_epoch_is_read_at_intervals_in_one_round_trip(
    strict: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = strict.redis_round_trips
    for _ in range(3):
        await strict.reads.absences.now()
    assert strict.redis_round_trips == before
    monkeypatch.setattr(postgres_absences, "EPOCH_AGE_S", 0)
    await strict.reads.absences.now()
    assert strict.redis_round_trips == before + 1


@pytest.mark.parametrize("delayed_writes", [True, False])
async def test_a_change_that_cannot_be_logged_is_delayed_or_rejected(
    storage_settings: StorageSettings, stores: Stores, delayed_writes: bool
) -> None:
    """The cache server can be reached, and the broker cannot."""
    cache = replace(
        storage_settings.cache, url=storage_settings.redis_url, delayed_writes=delayed_writes
    )
    settings = replace(storage_settings, redis_url=NOWHERE, cache=cache)
    async with open_stores(settings) as without_broker:
        change = without_broker.writes.account_states.change
        if delayed_writes:
            assert (await change(ONE, AccountState.DEACTIVATED)).is_delayed
        else:
            with pytest.raises(Unavailable):
                await change(ONE, AccountState.DEACTIVATED)
    state = AccountState.DEACTIVATED if delayed_writes else AccountState.ACTIVE
    assert (await stores.writes.account_states.get_many([ONE]))[ONE].state is state
    repeated = await stores.writes.account_states.change(ONE, AccountState.DEACTIVATED)
    assert not repeated.is_delayed
    assert await entries(stores) == 1

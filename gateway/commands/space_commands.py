"""`kith space …`: creates, lists, changes, migrates and drops the spaces of a deployment."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import typer

from gateway.settings.config import Config
from gateway.settings.space_config import check_variables
from storage.postgres.connection.pool import Postgres
from storage.postgres.migrate import migrate
from storage.postgres.space_drop import check_tables, count_connections, drop_tables
from storage.postgres.spaces import SpaceDirectory, SpaceRecord, SpaceState
from storage.settings import StorageSettings
from storage.space import checked_space
from storage.space_drop import unlink_keys

RELEASE_S = 40.0
"""How long `drop` waits until gateways and workers have closed the space."""
RELEASE_CHECK_S = 0.5


@asynccontextmanager
async def _directory(config: Config) -> AsyncIterator[SpaceDirectory]:
    postgres = Postgres(config.storage)
    try:
        yield SpaceDirectory(postgres)
    finally:
        await postgres.close()


async def create(
    config: Config, name: str, settings: Mapping[str, str], partitions: int, shards: int | None
) -> None:
    """Create a space with its tables. After an interruption, call it again: it continues, with the
    settings of the first call unless others are given.

    `shards`: as for `storage.postgres.migrate.migrate`.

    Raises:
        ValueError: the name or a setting is wrong, the space exists or is being dropped, or
            `shards` is given and the database has no Citus.
        Unavailable: PostgreSQL or Redis cannot be reached.
    """
    _check_name(config, name)
    async with _directory(config) as directory:
        present = (await directory.all()).get(name)
        if present is not None and present.state is SpaceState.CREATING:
            settings = settings or present.settings
        space_config = _checked(config, name, settings)
        if present is None:
            # Keys of an earlier space of this name would be read as those of the new one.
            if not await directory.has_schema(name):
                await unlink_keys(config.storage, name)
            await directory.create(name, settings)
        elif present.state is SpaceState.CREATING:
            await directory.set_settings(name, settings)
        elif present.state is SpaceState.DROPPING:
            raise ValueError(f"{name} is being dropped. Finish that first: kith space drop {name}")
        else:
            raise ValueError(f"There is a space {name} already.")
        await _migrate(space_config.storage, partitions, shards)
        await directory.set_state(name, SpaceState.READY)
    typer.echo(f"{name}: created")


async def show(config: Config) -> None:
    """Print the spaces with their states and settings. Raises Unavailable."""
    async with _directory(config) as directory:
        records = await directory.all()
    typer.echo(f"{config.storage.space}: default, with the settings of the environment")
    for record in records.values():
        typer.echo(_line(record))


async def set_settings(config: Config, name: str, changes: Mapping[str, str]) -> None:
    """Change settings of a space. An empty value removes one.

    Raises:
        ValueError: there is no such space, or a setting is wrong.
        Unavailable: PostgreSQL cannot be reached.
    """
    check_variables(changes)
    async with _directory(config) as directory:
        record = await _existing(config, directory, name)
        merged = {**record.settings, **changes}
        await _save(config, directory, name, {key: value for key, value in merged.items() if value})


async def copy_settings(config: Config, source: str, target: str) -> None:
    """Give a space the settings of another one, in place of its own. Raises as `set_settings`."""
    async with _directory(config) as directory:
        record = await _existing(config, directory, source)
        await _existing(config, directory, target)
        await _save(config, directory, target, record.settings)


async def migrate_all(config: Config, partitions: int) -> None:
    """Migrate the default space and then all others to the newest version. Raises Unavailable."""
    await _migrate(config.storage, partitions, None)
    async with _directory(config) as directory:
        for name, record in (await directory.all()).items():
            if record.state is not SpaceState.DROPPING:
                space_config = config.for_space(name, record.settings)
                await _migrate(space_config.storage, partitions, None)


async def drop(config: Config, name: str) -> None:
    """Remove a space with its tables and its keys. Repeat it after an interruption.

    Raises:
        ValueError: there is no such space, it is served by processes that do not read the
            directory, or its schema holds other tables. The space is served as before.
        Unavailable: PostgreSQL or Redis cannot be reached.
    """
    if name == config.storage.space:
        await _drop_default(config)
    else:
        await _drop_listed(config, name)
    typer.echo(f"{name}: dropped")


async def _drop_listed(config: Config, name: str) -> None:
    """Drop a space of the directory. If processes do not release it, it is served as before."""
    async with _directory(config) as directory:
        record = await _existing(config, directory, name)
        await check_tables(config.storage, name)
        await directory.set_state(name, SpaceState.DROPPING)
        try:
            await _until_released(config.storage, name)
        except ValueError:  # nothing is removed yet, so it may be served again
            await directory.set_state(name, record.state)
            raise
        await unlink_keys(config.storage, name)
        await drop_tables(config.storage, name)
        # A request that ran while the tables were dropped may have written keys again.
        await unlink_keys(config.storage, name)
        await directory.remove(name)


async def _drop_default(config: Config) -> None:
    """Drop the tables and the keys of the default space, which holds the directory."""
    name = config.storage.space
    async with _directory(config) as directory:
        if others := await directory.all():
            raise ValueError(
                f"The directory of spaces is in {name}. First drop {', '.join(others)}."
            )
    if count := (await count_connections(config.storage, name)).all:
        raise ValueError(
            f"{name} is served: {count} connections are open. Stop its gateways and workers first."
        )
    await drop_tables(config.storage, name)
    await unlink_keys(config.storage, name)


async def _until_released(settings: StorageSettings, name: str) -> None:
    """Wait until the processes that read the directory have closed their connections. Raises
    ValueError if some are still used after `RELEASE_S`."""
    loop = asyncio.get_running_loop()
    until = loop.time() + RELEASE_S
    while (usage := await count_connections(settings, name)).all:
        if loop.time() > until:
            if not usage.in_use:  # such as connections that a pooler keeps open
                return
            raise ValueError(
                f"{name} is still in use by {usage.in_use} connections. Stop the processes that run"
                f" with --space {name}, and repeat the command."
            )
        await asyncio.sleep(RELEASE_CHECK_S)


async def _existing(config: Config, directory: SpaceDirectory, name: str) -> SpaceRecord:
    record = (await directory.all()).get(name)
    if record is not None:
        return record
    if name == config.storage.space:
        raise ValueError(f"{name} is the default space: its settings are environment variables.")
    raise ValueError(f"There is no space {name!r}. `kith space list` shows all.")


async def _save(
    config: Config, directory: SpaceDirectory, name: str, settings: Mapping[str, str]
) -> None:
    _checked(config, name, settings)
    await directory.set_settings(name, settings)
    typer.echo(_line((await directory.all())[name]))


def _checked(config: Config, name: str, settings: Mapping[str, str]) -> Config:
    """The configuration of a space. Raises ConfigurationError."""
    space_config = config.for_space(name, settings)
    if space_config.authentication != config.authentication:
        space_config.authentication.local_keys()  # raises ValueError for keys that cannot be read
    return space_config


def _check_name(config: Config, name: str) -> None:
    checked_space(name)
    if name == config.storage.space:
        raise ValueError(f"{name} is the default space: `kith migrate` creates it.")


async def _migrate(settings: StorageSettings, partitions: int, shards: int | None) -> None:
    url = settings.connections.direct_database_url or settings.database_url
    password = settings.connections.database_password_file
    applied = await migrate(url, settings.space, partitions, password, shards)
    done = f"applied {', '.join(applied)}" if applied else "up to date"
    typer.echo(f"{settings.space}: {done}")


def _line(record: SpaceRecord) -> str:
    settings = " ".join(f"{name}={value}" for name, value in sorted(record.settings.items()))
    created = f"{record.created_at:%Y-%m-%d}"
    return f"{record.name}: {record.state.name.lower()}, created {created} {settings}".rstrip()

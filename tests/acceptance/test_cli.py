"""The command line: error messages without tracebacks, exit codes, and audit records."""

import asyncio
import os
import stat
import sys
import tomllib
import venv
from pathlib import Path

import pytest
import zstandard
from typer.testing import CliRunner

from devstack.state import State, announce
from gateway.authentication.identify import (
    DEVELOPMENT_SECRET,
    Authentication,
    AuthenticationSettings,
)
from gateway.commands.cli import app
from gateway.http.headers import Headers
from gateway.version import VERSION
from storage.ports.reader import ProfilesOf
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edge_files import follows_of
from tests.support.gateway import running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.kith_process import start_kith

ROOT = Path(__file__).parents[2]


async def kith(*arguments: str, **variables: str) -> tuple[int, str]:
    """Run a command and return its exit code and output."""
    return await kith_reading(None, *arguments, **variables)


async def kith_reading(stdin: int | None, *arguments: str, **variables: str) -> tuple[int, str]:
    """Run a command with this descriptor as its standard input."""
    process = await start_kith(
        *arguments,
        env={**os.environ, **variables},
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


def kith_in_process(*arguments: str) -> tuple[int, str]:
    """Like `kith`, but in this process, which saves 1 s of CPU. For commands without servers."""
    result = CliRunner().invoke(app, arguments, prog_name="kith")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def server_variables(settings: StorageSettings) -> dict[str, str]:
    """The environment variables with the addresses of the servers."""
    return {"DATABASE_URL": settings.database_url, "REDIS_URL": settings.redis_url}


@pytest.mark.parametrize(
    "command",
    [
        "outbox list --limit",
        "outbox retry",
        "outbox drop",
        "webhooks log x --limit",
        "webhooks replay x",
        "shards --limit",
        "shards --whales",
        "shards isolate",
        "verify --examples",
        "token",
        "token 1 --ttl",
    ],
)
def test_a_number_that_is_too_large_is_rejected(command: str) -> None:
    code, output = kith_in_process(*command.split(), str(2**63))
    assert code == 2
    assert "Input should be less than or equal to" in output


@pytest.mark.parametrize(
    "command",
    [
        "dev",
        "serve",
        "worker",
        "migrate",
        "load",
        "verify",
        "outbox",
        "lanes",
        "space",
        "webhooks",
        "token",
        "sdl",
    ],
)
def test_every_command_has_a_help_text(command: str) -> None:
    code, output = kith_in_process(command, "--help")
    assert code == 0
    assert f"Usage: kith {command}" in output


async def test_the_help_of_the_module_shows_the_name_of_the_module() -> None:
    code, output = await run_program(
        Path(sys.executable), "-m", "gateway", "token", "--help", folder=ROOT
    )
    assert code == 0
    assert "Usage: python -m gateway" in output


async def test_the_installed_command_runs_from_another_folder(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    site = next(environment.glob("lib/python3*/site-packages"))
    (site / "locked.pth").write_text("\n".join(p for p in sys.path if p.endswith("-packages")))
    python = environment / "bin" / "python"
    install = ("install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation")
    code, output = await run_program(python, "-m", "pip", *install, "--editable", str(ROOT))
    assert code == 0, output
    script = environment / "bin" / "kith"
    assert await run_program(script, "--version") == (0, f"kith {VERSION}\n")
    code, output = await run_program(script, "--help")
    assert "Usage: kith" in output
    code, output = await run_program(python, "-c", "import gateway; print(gateway.__path__[0])")
    assert output.strip() == str(ROOT / "gateway")


def test_the_version_is_that_of_pyproject_toml() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION


async def run_program(program: Path, *arguments: str, folder: Path = Path("/")) -> tuple[int, str]:
    """Exit code and output of a program."""
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


@pytest.mark.parametrize("command", [("verify",), ("load", "edges.csv")])
async def test_a_command_for_a_space_without_tables_says_to_migrate_it(
    storage_settings: StorageSettings, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "edges.csv").write_text("1,2\n")
    arguments = [str(tmp_path / a) if a.endswith(".csv") else a for a in command]
    code, output = await kith(
        *arguments, "--space", "nowhere", **server_variables(storage_settings)
    )
    assert code == 2
    assert "kith migrate" in output
    assert "Traceback" not in output


async def test_load_reads_standard_input(storage_settings: StorageSettings) -> None:
    """From a pipe, which can be read only once."""
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb"), os.fdopen(write_end, "wb") as pipe:
        pipe.write(zstandard.compress(b"1,2\n2,1\nx,y\n"))
        pipe.close()
        code, output = await kith_reading(
            read_end, "load", "-", **server_variables(storage_settings)
        )
    assert code == 0
    assert "line 3: from_user_id is not an integer" in output
    assert "2 edges loaded" in output
    assert [edge[:2] for edge in await follows_of(storage_settings)] == [(1, 2), (2, 1)]


async def test_a_gateway_of_a_space_without_tables_is_not_ready(
    storage_settings: StorageSettings,
) -> None:
    settings = StorageSettings(
        storage_settings.database_url, storage_settings.redis_url, space="nowhere"
    )
    async with running_gateway(settings) as gateway:
        response = await gateway.http.get("/readyz")
        assert response.status_code == 503
        assert "migrate" in response.json()["parts"]["postgresql"]["reason"]
        error = await gateway.error('{ user(id: "1") { followerCount } }')
        assert error["extensions"] == {"code": "UNAVAILABLE", "part": "PostgreSQL"}


async def test_verify_fails_while_redis_is_unavailable(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await follows(stores, (1, 2))
    await drain_all(stores)
    assert (await kith("verify", **server_variables(storage_settings)))[0] == 0
    variables = {**server_variables(storage_settings), "REDIS_URL": "unix:///nowhere.sock"}
    code, output = await kith("verify", **variables)
    assert code == 2
    assert "could not all be compared" in output


async def test_verify_finds_a_wrong_cached_value_and_repairs_it(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await follows(stores, (1, 2))
    await drain_all(stores)
    await stores.reads.reader.read(None, ProfilesOf([1]))  # type: ignore[list-item]
    ((key,),) = await stores.servers.redis.pipe([("KEYS", "*profile*")])
    await stores.servers.redis.pipe([("SET", key, bytes(25))])
    code, output = await kith("verify", **server_variables(storage_settings))
    assert code == 1
    assert "cached value differs: 1" in output
    await kith("verify", "--repair", **server_variables(storage_settings))
    assert (await kith("verify", **server_variables(storage_settings)))[0] == 0


@pytest.mark.parametrize("user", ["0", "9223372036854775808", "x"])
def test_a_token_for_an_invalid_user_id_is_rejected(user: str) -> None:
    code, output = kith_in_process("token", user)
    assert code == 2
    assert "Traceback" not in output


def test_a_token_without_a_user_needs_the_service_scope() -> None:
    code, output = kith_in_process("token")
    assert (code, "Name a user id" in output) == (2, True)
    code, output = kith_in_process("token", "--scope", "service")
    assert code == 0
    authentication = Authentication(
        AuthenticationSettings(secrets=(DEVELOPMENT_SECRET,), development=True)
    )
    identity = authentication.identify(
        Headers([(b"authorization", f"Bearer {output.strip()}".encode())])
    )
    assert (identity.user_id, identity.service) == (None, True)


def test_only_its_owner_can_read_the_file_with_the_server_addresses(empty_state: State) -> None:
    with empty_state.held():
        announce(empty_state, "postgresql://kith:secret@db/kith", "redis://cache", None)
        assert stat.S_IMODE(empty_state.run_file.stat().st_mode) == 0o600


@pytest.mark.parametrize("manifest", ['{"%s": "{ __typename }"}' % ("0" * 32), '{"a": "{ no }"}'])
@pytest.mark.parametrize("by_option", [True, False])
async def test_serve_rejects_an_invalid_manifest_of_trusted_documents(
    storage_settings: StorageSettings, tmp_path: Path, manifest: str, by_option: bool
) -> None:
    file = tmp_path / "documents.json"
    file.write_text(manifest)
    secret = {"KITH_JWT_SECRET": "a secret of thirty-two characters"}
    option = ("--trusted-documents", str(file)) if by_option else ()
    variable = {} if by_option else {"KITH_TRUSTED_DOCUMENTS": str(file)}
    code, output = await kith(
        "serve", *option, **server_variables(storage_settings), **secret, **variable
    )
    assert code == 2
    assert f"{file}: the operation without a name" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("command", "result"),
    [
        (["lanes", "--set", "16"], "OK"),
        (["lanes", "--set", "3"], "FAILED"),
        (["outbox", "drop", "1"], "EXIT 1"),
        (["verify", "--repair"], "OK"),
        (["migrate"], "OK"),
        pytest.param(
            ["shards", "isolate", "7"], "FAILED", marks=pytest.mark.plain("the command succeeds")
        ),
    ],
)
async def test_a_command_that_changes_a_space_is_audited(
    storage_settings: StorageSettings, command: list[str], result: str
) -> None:
    _, output = await kith(*command, **server_variables(storage_settings))
    (line,) = [line for line in output.splitlines() if " kith.audit: " in line]
    name = " ".join(word for word in command if word.isalpha() or word.startswith("--"))
    assert f"kith.audit: command {name} " in line
    assert 'actor="operator ' in line
    assert "space=public" in line
    assert f"result={result}" in line.replace('"', "")


async def test_a_command_that_only_reads_is_not_audited(storage_settings: StorageSettings) -> None:
    for command in (["lanes"], ["outbox", "list"], ["verify"]):
        _, output = await kith(*command, **server_variables(storage_settings))
        assert "kith.audit" not in output


async def test_a_printed_token_is_audited_without_the_token() -> None:
    _, output = await kith("token", "7", "--scope", "service", KITH_JWT_SECRET="s" * 32)
    (token,) = [line for line in output.splitlines() if "." in line and " " not in line]
    (line,) = [line for line in output.splitlines() if "kith.audit" in line]
    assert "command token" in line
    assert "target=7 scopes=service" in line
    assert token not in line
    _, output = await kith("token", "7", KITH_JWT_SECRET=DEVELOPMENT_SECRET)
    assert "kith.audit" not in output

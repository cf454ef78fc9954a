"""docs/browsers.md and docs/persisted-operations.md: commands run, tables are complete."""

import asyncio
import inspect
import json
import re
import shutil

import pytest

from gateway.graphql import documents
from gateway.http.browsers import REQUEST_HEADERS, RESPONSE_HEADERS, BrowserSettings, CrossOrigin
from storage.settings import StorageSettings
from tests.support.documentation import blocks, page, rows
from tests.support.live_gateway import live_gateway

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
ERROR_CODE = re.compile(r'"((?:PERSISTED|TRUSTED)_[A-Z_]+)"')


async def output_of(settings: StorageSettings, script: str) -> str:
    """The output of a page's commands, sent to a gateway with the settings of `kith dev`."""
    browsers = BrowserSettings(headers=frozenset({"x-viewer"}), local=True)
    async with live_gateway(settings, browsers=browsers) as live:
        script = script.replace("http://localhost:8000/graphql", f"--noproxy '*' {live.http}")
        process = await asyncio.create_subprocess_exec(
            *("bash", "-euc", script), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


@needs_curl
async def test_the_commands_for_persisted_queries_print_what_the_page_says(
    storage_settings: StorageSettings,
) -> None:
    (script,) = [code for code in blocks("persisted-operations", "sh") if "curl" in code]
    unknown, *answers = re.findall(r"\{.*?\}(?=\{|$)", await output_of(storage_settings, script))
    assert json.loads(unknown)["errors"][0]["message"] == "PersistedQueryNotFound"
    assert list(map(json.loads, answers)) == [{"data": {"viewer": {"user": {"id": "1"}}}}] * 2


@needs_curl
async def test_the_preflight_of_the_page_is_allowed(storage_settings: StorageSettings) -> None:
    (script,) = [code for code in blocks("browsers", "sh") if "curl" in code]
    output = (await output_of(storage_settings, script)).lower()
    assert output.startswith("http/1.1 204")
    assert "access-control-allow-origin: http://localhost:5173\r\n" in output


def test_the_page_about_browsers_lists_every_header() -> None:
    text = page("browsers").lower()
    for name in (*REQUEST_HEADERS, *RESPONSE_HEADERS):
        assert f"`{name.lower()}`" in text


def test_the_pages_list_every_error_code() -> None:
    listed = {code.strip("`") for code, *_ in rows("persisted-operations", "code")}
    in_source = set(ERROR_CODE.findall(inspect.getsource(documents)))
    assert listed == in_source | {"BAD_REQUEST"}
    rejected = {code.strip("`") for code, *_ in rows("browsers", "rejected with 403 and")}
    assert rejected == set(re.findall(r'"([A-Z_]+_NOT_ALLOWED)"', inspect.getsource(CrossOrigin)))
    clients_page = page("clients")
    for code in listed | rejected:
        assert f"`{code}`" in clients_page

"""Each record is one line: an object in JSON logs, and without control characters in text logs."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

from gateway.commands.logs import TextFormatter

ROOT = Path(__file__).parents[2]
PROLOGUE = """
import logging, threading, warnings
from gateway.commands.logs import LogFormat, set_up_logging
set_up_logging(LogFormat.JSON)
log = logging.getLogger("kith.tests")
"""


def logged(script: str) -> list[dict[str, Any]]:
    process = subprocess.run(
        [sys.executable, "-W", "default", "-c", PROLOGUE + script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout == ""
    return [json.loads(line) for line in process.stderr.splitlines()]


def test_a_message_with_line_breaks_is_one_line() -> None:
    (record,) = logged(r'log.warning("one\ntwo %s", {"three": "\u2603"})')
    assert record["message"] == "one\ntwo {'three': '\u2603'}"
    assert (record["level"], record["logger"]) == ("WARNING", "kith.tests")
    assert "exception" not in record


def test_a_character_that_cannot_be_encoded_is_replaced() -> None:
    (record,) = logged(r'log.info("half of a pair: \ud83d")')
    assert record["message"].startswith("half of a pair: ")


def test_an_exception_is_logged_with_its_traceback() -> None:
    (record,) = logged("""
try:
    1 / 0
except ZeroDivisionError:
    log.exception("it failed")
""")
    assert record["message"] == "it failed"
    assert record["exception"].startswith("Traceback (most recent call last):\n")
    assert record["exception"].endswith("ZeroDivisionError: division by zero")


def test_uncaught_exceptions_and_warnings_are_log_lines() -> None:
    thread = "t = threading.Thread(target=lambda: [][1]); t.start(); t.join()\n"
    first, second, third = logged(f'{thread}warnings.warn("old")\n1 / 0')
    assert "IndexError" in first["exception"]
    assert (second["logger"], "old" in second["message"]) == ("py.warnings", True)
    assert (third["level"], third["message"]) == ("CRITICAL", "uncaught ZeroDivisionError")


def test_the_fields_and_the_id_of_the_request_are_in_the_line() -> None:
    (record,) = logged("""
from telemetry.request_id import request_id
request_id.set("abc")
log.info("done", extra={"count": 3, "name_of": {1}, "level": "mine"})
""")
    assert (record["request_id"], record["count"], record["name_of"]) == ("abc", 3, "{1}")
    assert record["level"] == "INFO", "fields replace nothing"


def test_a_line_of_text_ends_with_its_fields() -> None:
    process = subprocess.run(
        [
            sys.executable,
            "-c",
            PROLOGUE.replace("LogFormat.JSON", 'LogFormat.TEXT, "warning"')
            + 'log.info("not logged")\n'
            + 'logging.getLogger("kith.audit").info("audited")\n'
            + 'log.warning("done", extra={"actor": "user 7\\n", "count": 3})',
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    audited, line = process.stderr.splitlines()
    assert audited.endswith(" INFO kith.audit: audited")
    assert line.endswith(' WARNING kith.tests: done actor="user 7\\n" count=3')


def test_text_from_a_client_cannot_add_a_line_or_control_a_terminal() -> None:
    text = "a\nERROR forged\x1b[31m\x9b\x00\u2028\ud83d é"
    record = logging.makeLogRecord(
        {
            "msg": "export %s",
            "args": (text,),
            "levelname": "INFO",
            "name": "kith.tests",
            "own": text,
        }
    )
    line = TextFormatter().format(record)
    assert line.isprintable()
    assert r"INFO kith.tests: export a\nERROR forged\x1b[31m\x9b\x00\u2028\ud83d é own=" in line


def test_the_headers_and_messages_of_web_sockets_are_not_logged_at_any_level() -> None:
    """They contain tokens."""
    (record,) = logged(
        'set_up_logging(LogFormat.JSON, "debug")\n'
        "for name in ('uvicorn.error', 'websockets.server', 'kith.tests'):\n"
        "    logging.getLogger(name).debug('authorization')"
    )
    assert record["logger"] == "kith.tests"

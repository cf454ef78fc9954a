"""The audit log of commands that operators run."""

import logging
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from gateway.commands.logs import AUDIT, TextFormatter
from graph.errors import KithError

log = logging.getLogger(AUDIT)


@contextmanager
def audited_command(command: str, **fields: object) -> Iterator[None]:
    """Log the end of a command with its result, to standard error unless logging is set up."""
    result = "FAILED"
    try:
        yield
        result = "OK"
    except typer.Exit as ended:
        result = f"EXIT {ended.exit_code}" if ended.exit_code else "OK"
        raise
    except KithError as error:
        result = error.code
        raise
    finally:
        action = f"command {command}"
        log_fields = {
            "actor": f"operator {_os_user()}",
            "action": action,
            "result": result,
            **fields,
        }
        with _stderr_handler():
            log.info("%s", action, extra=log_fields)


def _os_user() -> str:
    """The name of the process's user, or the number if it has no name, as in a container."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@contextmanager
def _stderr_handler() -> Iterator[None]:
    """Write the audit log to standard error, if no handler would."""
    if log.hasHandlers():
        yield
        return
    handler = logging.StreamHandler()
    handler.setFormatter(TextFormatter())
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)

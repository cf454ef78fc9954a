"""Log formats: lines of text for people, or of JSON for log collectors."""

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from enum import StrEnum
from types import TracebackType

from graph.space import PUBLIC_SPACE, current_space
from telemetry.request_id import request_id

AUDIT = "kith.audit"
"""The logger of `resolvers.audit`."""


class LogFormat(StrEnum):
    """The format of a log line."""

    TEXT = "text"
    JSON = "json"


_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "color_message"}
"""Attributes of every record, and one of uvicorn's. All others are fields of the message."""


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """The request's id, if the task handles one; the space of the request or job, unless it is the
    default one; and the fields of the message."""
    current_id, space = request_id.get(), current_space()
    own = {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
    if space != PUBLIC_SPACE:
        own = {"space": space, **own}
    return own if current_id is None else {"request_id": current_id, **own}


class TextFormatter(logging.Formatter):
    """A line with its fields at the end, as `name=value`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the base class's name)
        fields = (f" {name}={_field_text(value)}" for name, value in _fields(record).items())
        return _one_line(super().formatMessage(record)) + "".join(fields)


def _one_line(text: str) -> str:
    """The text with escapes instead of line breaks and other characters that cannot be printed: a
    client may have written them into a path."""
    if text.isprintable():
        return text
    characters = (char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return "".join(characters)


def _field_text(value: object) -> str:
    """An alphanumeric value as it is, or any other as a JSON string, without line breaks."""
    text = str(value)
    return text if text.isalnum() else json.dumps(text)


class JsonFormatter(logging.Formatter):
    """One object for each line: time (RFC 3339), level, logger, process, message, the request's id,
    fields, exception."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in _fields(record).items() if name not in line}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        # `str`: for fields that JSON has no type for.
        return json.dumps(
            line, default=str
        )  # in ASCII, because a message may have an unpaired surrogate


_LOGS_HEADERS = ("uvicorn.error", "websockets")
"""The loggers of web sockets. At the level DEBUG they log headers and messages, with tokens."""


def set_up_logging(log_format: LogFormat, level: str = "info") -> None:
    """Log `level` and above to standard error; as JSON, also uncaught exceptions."""
    handler = logging.StreamHandler()
    if log_format is LogFormat.TEXT:
        handler.setFormatter(TextFormatter())
    else:
        handler.setFormatter(JsonFormatter())
        logging.captureWarnings(True)
        sys.excepthook = _log_exception
        threading.excepthook = _log_thread_exception
    logging.getLogger(AUDIT).setLevel(logging.INFO)  # at any level of the other loggers
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _LOGS_HEADERS:
        logging.getLogger(name).setLevel(max(logging.INFO, logging.getLogger().level))


def _log_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    logging.getLogger("gateway").critical(
        "uncaught %s", kind.__name__, exc_info=(kind, error, trace)
    )


def _log_thread_exception(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_value is not None:
        _log_exception(failure.exc_type, failure.exc_value, failure.exc_traceback)

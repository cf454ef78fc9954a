"""Log formats: lines of text for people, or of JSON for log collectors."""

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from enum import StrEnum
from types import TracebackType


class LogFormat(StrEnum):
    """The format of a log line."""

    TEXT = "text"
    JSON = "json"


class JsonFormatter(logging.Formatter):
    """One object for each line: time (RFC 3339), level, logger, process, message, exception."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        return json.dumps(line)  # in ASCII, because a message may have an unpaired surrogate


def set_up_logging(log_format: LogFormat) -> None:
    """Log INFO and above to standard error; as JSON, also uncaught exceptions."""
    handler = logging.StreamHandler()
    if log_format is LogFormat.TEXT:
        text = "%(asctime)s %(levelname)s %(name)s: %(message)s"
        handler.setFormatter(logging.Formatter(text))
    else:
        handler.setFormatter(JsonFormatter())
        logging.captureWarnings(True)
        sys.excepthook = _log_exception
        threading.excepthook = _log_thread_exception
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def _log_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    logging.getLogger("gateway").critical(
        "uncaught %s", kind.__name__, exc_info=(kind, error, trace)
    )


def _log_thread_exception(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_value is not None:
        _log_exception(failure.exc_type, failure.exc_value, failure.exc_traceback)

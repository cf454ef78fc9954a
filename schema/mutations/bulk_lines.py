"""The lines of bulk operations: how they are read, and how their results are written."""

import csv
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum
from typing import TypeVar

import orjson

from graph.bulk import LINE_BYTES_MAX, BulkLine, BulkSlice, LineCounts, SliceResults
from graph.errors import BadInput
from graph.outcome import CHANGES, REJECTIONS, Outcome
from resolvers.bulk import ViewerChange
from resolvers.policy import Policy
from resolvers.relationship import Result
from schema import arguments
from schema.mutations.changes import RelationshipAction, RelationshipChangeInput
from schema.mutations.follows import FollowVisibility
from schema.relation import FollowNotifications
from schema.rows import date
from schema.user_errors import user_errors

VIEWER = "viewerId"
FIELDS = (
    *(VIEWER, "action", "userId"),
    *("visibility", "closeFollow", "notify", "message", "until", "ifVersion"),
)
REQUIRED = FIELDS[:3]
"""The fields that a line can have, and those that it must have."""

FAILED = "FAILED"
"""The code of a line whose change failed with an unexpected error, which is only in the log."""

_BOOLEANS = {"true": True, "false": False}

EnumT = TypeVar("EnumT", bound=Enum)
Fields = Mapping[str, object]


def read_columns(head: str) -> tuple[str, ...]:
    """The names of the fields from the first line of a CSV file. Raises BadInput."""
    columns = tuple(_cells(head))
    known = ", ".join(FIELDS)
    if not set(REQUIRED) <= set(columns) <= set(FIELDS) or len(set(columns)) < len(columns):
        raise BadInput(
            "columns", f"must be {', '.join(REQUIRED)} and any others of {known}, each once."
        )
    return columns


def write_line(viewer: str, change: RelationshipChangeInput) -> str:
    """The JSON line of a change."""
    fields: dict[str, object] = {
        VIEWER: viewer,
        "action": change.action.name,
        "userId": change.user_id,
    }
    visibility, until = arguments.given(change.visibility), arguments.given(change.until)
    notify = arguments.given(change.notify)
    optional = {
        "visibility": None if visibility is None else visibility.name,
        "closeFollow": arguments.given(change.close_follow),
        "notify": None if notify is None else notify.name,
        "message": arguments.given(change.message),
        "until": None if until is None else until.isoformat(),
        "ifVersion": arguments.given(change.if_version),
    }
    fields |= {name: value for name, value in optional.items() if value is not None}
    return orjson.dumps(fields).decode()


class SliceLines:
    """The lines of a slice: the changes of valid lines, and the errors of invalid ones."""

    def __init__(self, policy: Policy, bulk_slice: BulkSlice) -> None:
        self._columns = bulk_slice.operation.options.columns
        self._lines = bulk_slice.lines
        self._fields: dict[int, Fields] = {}
        self._invalid: dict[int, Result] = {}
        self.changes: dict[int, ViewerChange] = {}
        """The changes of the valid lines, by line number."""
        for line in bulk_slice.lines:
            try:
                fields = self._fields[line.number] = self._read_fields(line)
                self.changes[line.number] = _parse_change(policy, fields)
            except BadInput as bad:
                self._invalid[line.number] = Result(Outcome.INVALID_INPUT, invalid=bad)

    def _read_fields(self, line: BulkLine) -> Fields:
        """The fields of a line of JSON or CSV. An empty cell of CSV is an omitted field. Raises
        BadInput."""
        if len(line.text.encode()) > LINE_BYTES_MAX:
            raise BadInput("line", f"must have at most {LINE_BYTES_MAX} bytes.")
        if self._columns is None:
            return _read_json(line.text)
        cells = _cells(line.text)
        if len(cells) != len(self._columns):
            raise BadInput("line", f"must have {len(self._columns)} fields, got {len(cells)}.")
        given = dict(zip(self._columns, cells, strict=True))
        fields: dict[str, object] = {name: cell for name, cell in given.items() if cell}
        if "closeFollow" in fields:
            fields["closeFollow"] = _BOOLEANS.get(given["closeFollow"], given["closeFollow"])
        return fields

    def results(self, applied: Mapping[int, Result | None]) -> SliceResults:
        """The results of all lines of the slice, in order. `applied`: the result of each of
        `changes`, by line number; None if it failed with an unexpected error."""
        results_by_line = {**applied, **self._invalid}
        lines = [self._result(line.number, results_by_line[line.number]) for line in self._lines]
        return SliceResults(b"".join(lines), _counts(results_by_line.values()))

    def _result(self, number: int, result: Result | None) -> bytes:
        fields = self._fields.get(number, {})
        answer: dict[str, object] = {"line": number}
        for name in REQUIRED:
            value = fields.get(name)
            # Other values may be nested deeper than orjson writes.
            answer[name] = value if isinstance(value, str | int | float) else None
        if result is None:
            error = {"code": FAILED, "message": "This line has failed. The log says why."}
            answer |= {"outcome": FAILED, "changed": False, "error": error}
        else:
            answer |= {"outcome": _outcome(result), "changed": result.is_changed}
            answer["error"] = _error(result)
        return orjson.dumps(answer) + b"\n"


def _parse_change(policy: Policy, fields: Fields) -> ViewerChange:
    """The viewer and the change of a line. Raises BadInput."""
    viewer = arguments.user_id(VIEWER, _text(fields, VIEWER))
    action = _enum_member(RelationshipAction, fields, "action")
    visibility, until = fields.get("visibility"), fields.get("until")
    close_follow, notify = fields.get("closeFollow"), fields.get("notify")
    if close_follow is not None and not isinstance(close_follow, bool):
        raise BadInput("closeFollow", "must be true or false.")
    given = RelationshipChangeInput(
        action=action,
        user_id=_text(fields, "userId"),  # type: ignore[arg-type]
        visibility=None
        if visibility is None
        else _enum_member(FollowVisibility, fields, "visibility"),
        close_follow=close_follow,
        notify=None if notify is None else _enum_member(FollowNotifications, fields, "notify"),
        message=_optional_text(fields, "message"),
        until=None if until is None else _date(_text(fields, "until")),
        if_version=_optional_text(fields, "ifVersion"),
    )
    return viewer, given.change(policy)


def _read_json(text: str) -> Fields:
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadInput("line", "must be a JSON object.") from error
    if not isinstance(fields, dict):
        raise BadInput("line", "must be a JSON object.")
    for name in fields:
        if name not in FIELDS:
            raise BadInput(name[:100], f"is not a field. There are {', '.join(FIELDS)}.")
    return fields


def _cells(text: str) -> list[str]:
    try:
        return next(csv.reader([text], strict=True), [])
    except csv.Error as error:
        raise BadInput("line", "must be a line of CSV.") from error


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and name in (VIEWER, "userId"):
        return str(value)  # as for an ID of GraphQL
    if not isinstance(value, str):
        raise BadInput(name, "must be a text.")
    return value


def _optional_text(fields: Fields, name: str) -> str | None:
    return None if fields.get(name) is None else _text(fields, name)


def _enum_member(members: type[EnumT], fields: Fields, name: str) -> EnumT:
    value = fields.get(name)
    if not isinstance(value, str) or value not in members.__members__:
        raise BadInput(name, f"must be {', '.join(members.__members__)}.")
    return members[value]


def _date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput("until", "must be a date and time with a time zone.") from error


def _outcome(result: Result) -> str:
    return "REJECTED" if result.outcome in REJECTIONS else result.outcome.value


def _error(result: Result) -> Mapping[str, object] | None:
    """Why a change was rejected: the code, message and field of the error in GraphQL."""
    errors = user_errors(result, ())
    if not errors:
        return None
    (error,) = errors
    answer: dict[str, object] = {"code": error.code.name, "message": error.message}
    if error.field is not None:
        answer["field"] = error.field[-1]
    if result.retry_at is not None:
        answer["retryAt"] = date(result.retry_at).isoformat()
    return answer


def _counts(results: Iterable[Result | None]) -> LineCounts:
    outcomes = [None if result is None else result.outcome for result in results]
    changed = sum(outcome in CHANGES for outcome in outcomes)
    rejected = sum(outcome is None or outcome in REJECTIONS for outcome in outcomes)
    return LineCounts(changed, len(outcomes) - changed - rejected, rejected)

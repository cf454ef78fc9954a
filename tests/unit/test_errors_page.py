"""docs/errors.md lists every rejection and every error code, and nothing else."""

import re

from engine import ErrorCode
from gateway.graphql.execution import _CODES
from graph.errors import KithError
from graph.outcome import REJECTIONS
from schema.user_errors import USER_ERRORS
from tests.support.documentation import rows
from tests.support.rejections_table import PAGE, updated


def test_the_table_of_rejections_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == updated(page), "run make rejections"


def test_every_rejected_outcome_belongs_to_one_user_error_type() -> None:
    outcomes = [outcome for rejection in USER_ERRORS for outcome in rejection.messages]
    assert len(outcomes) == len(set(outcomes))
    assert set(outcomes) == REJECTIONS


def test_the_page_lists_the_codes_of_all_errors() -> None:
    listed = {code for codes, *_ in rows("errors", "code") for code in re.findall(r"\w+", codes)}
    own = {error.code for error in with_subclasses(KithError)}
    assert listed >= own | set(ErrorCode) | set(_CODES.values())


def with_subclasses(error: type[KithError]) -> list[type[KithError]]:
    return [error, *(below for one in error.__subclasses__() for below in with_subclasses(one))]

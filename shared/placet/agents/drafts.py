"""A question as a tool drafts it, or why it can't be put."""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from placet.domain.audience import MOST_NAMES, Audience
from placet.domain.expiry import check_on_expiry
from placet.domain.interaction import InteractionRequest
from placet.domain.naming import names
from placet.errors import Invalid, ToolError

LONGEST_QUESTION = 768 * 1024
"""Bytes of a question as JSON: with what the run adds, a message on the bus has room for it."""


def drafted(make: Callable[[], InteractionRequest], hint: str) -> InteractionRequest:
    """The question; `hint` says what it takes. Raises ToolError: why it is none."""
    try:
        draft = make()
        check_on_expiry(draft)
    except Invalid as error:
        listed = "; ".join(f"{each.pointer}: {each.detail}" for each in error.errors[:10])
        raise ToolError(f"it can't be asked: {listed or error}") from error
    except ValidationError as error:
        listed = "; ".join(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)[:10]
        )
        raise ToolError(f"it can't be asked: {f'{hint}: ' if hint else ''}{listed}") from error
    if (size := len(_json(draft))) > LONGEST_QUESTION:
        raise ToolError(
            f"it can't be asked: it has {size} bytes as JSON; {LONGEST_QUESTION} are taken"
        )
    return draft


def names_of(approvers: Sequence[str]) -> tuple[str, ...]:
    """Who may answer, as a question names them. Raises ToolError for what can't be a name."""
    given: Sequence[Any] = approvers
    odd = [each for each in given if not isinstance(each, str) or not names(each)]
    if odd or len(approvers) > MOST_NAMES:
        what = f"{odd[0]!r} names nobody" if odd else f"at most {MOST_NAMES} may be named"
        raise ToolError(f"it can't be asked: {what}")
    return tuple(dict.fromkeys(approvers))


def addressed(draft: InteractionRequest, approvers: tuple[str, ...]) -> InteractionRequest:
    """The question for these people; for whom the definition names if there are none."""
    if not approvers:
        return draft
    return draft.model_copy(update={"audience": Audience(approvers=approvers)})


def _json(draft: InteractionRequest) -> bytes:
    try:
        return draft.model_dump_json().encode()
    except (PydanticSerializationError, UnicodeEncodeError) as error:
        raise ToolError(f"it can't be asked: {error}"[:1000]) from error


def declared(default: Any) -> dict[str, Any]:
    """The fields of a question that has an answer for when nobody gives one."""
    return {} if default is None else {"on_expiry": "default", "default": default}

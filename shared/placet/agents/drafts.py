"""A question as a tool drafts it, or why it can't be put."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from placet.domain.expiry import check_on_expiry
from placet.domain.interaction import InteractionRequest
from placet.errors import Invalid, ToolError


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
    return draft


def declared(default: Any) -> dict[str, Any]:
    """The fields of a question that has an answer for when nobody gives one."""
    return {} if default is None else {"on_expiry": "default", "default": default}

"""Every error Placet raises on purpose, as one tree.

PlacetError
├── Refused           the caller must change something
│   ├── Invalid           content or arguments that do not fit (400, with a list of field errors)
│   ├── Unauthenticated   no valid credential (401)
│   ├── NotAllowed        the credential may not do this (403)
│   ├── NotFound          no such thing here (404)
│   ├── Conflict          it has settled, ended or changed meanwhile (409)
│   ├── Changed           it is not the version that `If-Match` or `If-None-Match` names (412)
│   ├── Unconditional     a change that must say which version it is of (428)
│   └── TooLarge          a body, message or document over its limit (413)
├── Unavailable       a server is away; the same call may go through later (503)
│   ├── QueueFull         the bus refuses more for now
│   └── Unroutable        nobody is bound to what was published
├── LostLease         another holder took the run over; stop at once
├── DefinitionError   an agent file that does not load; names file and line
├── SettingsError     a wrong or missing setting; names it
├── ModelError        the provider failed; carries its message
└── ToolError         what a tool raises to tell the model something
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that does not fit: where (a JSON pointer) and why (a sentence)."""

    pointer: str
    detail: str


class PlacetError(Exception):
    """The root of the tree. `code` is stable; `retryable` says whether the same call may succeed later."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False


class Refused(PlacetError):
    """The caller has to change something first."""

    code = "refused"


class Invalid(Refused):
    """Input that does not fit; `errors` lists each field."""

    code = "invalid"

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.errors = tuple(errors)


class Unauthenticated(Refused):
    """No credential, or one that is not valid."""

    code = "unauthenticated"


class NotAllowed(Refused):
    """A valid credential that may not do this; `reason` is a stable word for why, where there is one."""

    code = "not_allowed"

    def __init__(self, detail: str, *, code: str = "not_allowed") -> None:
        super().__init__(detail)
        self.reason = code


class NotFound(Refused):
    """No such thing in this namespace."""

    code = "not_found"


class Conflict(Refused):
    """It has settled, ended or changed meanwhile; `body` says how (for an input: the settled input)."""

    code = "conflict"

    def __init__(
        self, detail: str, *, code: str = "conflict", body: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(detail)
        self.reason = code
        self.body = dict(body or {})


class Changed(Refused):
    """It is not the version that the caller has seen: read it again, and decide again."""

    code = "precondition_failed"


class Unconditional(Refused):
    """The change must say of which version it is, so that nobody's later change is lost."""

    code = "precondition_required"


class TooLarge(Refused):
    """A body, message or document over its limit."""

    code = "too_large"


class Unavailable(PlacetError):
    """A server is away. Nothing was accepted; try again later."""

    code = "unavailable"
    retryable = True


class QueueFull(Unavailable):
    """The bus refuses more messages for now."""

    code = "queue_full"


class Unroutable(Unavailable):
    """Nothing is bound to what was published: a binding is missing."""

    code = "unroutable"


class LostLease(PlacetError):
    """Another holder took the run over, or it was aborted: stop, write nothing."""

    code = "lost_lease"


class DefinitionError(PlacetError):
    """An agent definition that cannot be used. The message names file, line and remedy."""

    code = "bad_definition"


class SettingsError(PlacetError):
    """A wrong or missing setting. The message names it."""

    code = "bad_setting"


class ModelError(PlacetError):
    """The model provider failed. `transient` says whether trying again makes sense."""

    code = "model_failed"

    def __init__(self, detail: str, *, transient: bool = False) -> None:
        super().__init__(detail)
        self.transient = transient


class ToolError(PlacetError):
    """Raise it in a tool to tell the model what went wrong."""

    code = "tool_error"

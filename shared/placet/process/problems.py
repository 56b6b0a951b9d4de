"""Errors on HTTP: one table from the tree of errors to a status, and one shape, RFC 9457."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from placet.errors import (
    Changed,
    Conflict,
    DefinitionError,
    FieldError,
    Invalid,
    LostLease,
    NotAllowed,
    NotFound,
    PlacetError,
    Refused,
    SettingsError,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unconditional,
)
from placet.process import logs

STATUS: tuple[tuple[type[PlacetError], int], ...] = (
    (Invalid, 400),
    (Unauthenticated, 401),
    (NotAllowed, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Changed, 412),
    (Unconditional, 428),
    (TooLarge, 413),
    (DefinitionError, 400),
    (SettingsError, 500),
    (Refused, 400),
    (LostLease, 409),
    (Unavailable, 503),
)
"""The first row that fits decides; an error that is in none is a 500."""
RETRY_AFTER = "2"
_CODES = {
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
}

_log = logs.get(__name__)


def status_of(error: PlacetError) -> int:
    """The HTTP status of an error."""
    return next((status for cls, status in STATUS if isinstance(error, cls)), 500)


def problem(
    status: int,
    detail: str,
    *,
    code: str,
    errors: Sequence[FieldError] = (),
    extra: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A problem document as a response; `extra` members stand beside the standard ones."""
    body = {
        **(extra or {}),
        "type": f"urn:placet:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    if errors:
        body["errors"] = [{"pointer": e.pointer, "detail": e.detail} for e in errors]
    content = orjson.dumps(body, default=str)
    return Response(content, status, dict(headers or {}), media_type="application/problem+json")


def of_error(error: PlacetError) -> Response:
    """The problem of one of our own errors."""
    status = status_of(error)
    code, extra = error.code, None
    errors = error.errors if isinstance(error, Invalid) else ()
    if isinstance(error, Conflict):
        code, extra = error.reason, error.body
    elif isinstance(error, NotAllowed):
        code = error.reason
    return problem(
        status, str(error), code=code, errors=errors, extra=extra, headers=_headers(status)
    )


def _headers(status: int) -> dict[str, str]:
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return {"Retry-After": RETRY_AFTER}
    if status == HTTPStatus.UNAUTHORIZED:
        return {"WWW-Authenticate": "Bearer"}
    return {}


async def on_placet_error(request: Request, error: Exception) -> Response:
    """Handler for PlacetError."""
    assert isinstance(error, PlacetError)  # noqa: S101 - registered for that class
    if status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.warning("request_failed", path=request.url.path, reason=str(error))
    return of_error(error)


async def on_validation_error(_request: Request, error: Exception) -> Response:
    """Handler for what FastAPI could not read: 400, with each field."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for that class
    errors = [_field(found) for found in error.errors()]
    return of_error(
        Invalid("; ".join(f"{e.pointer or '/'}: {e.detail}" for e in errors)[:2000], errors)
    )


def _field(found: Mapping[str, Any]) -> FieldError:
    """Where and why, as a JSON pointer into the body; what is not in the body says where it is."""
    place, *path = found["loc"]
    if found["type"] == "json_invalid":
        why = found.get("ctx", {}).get("error", found["msg"])
        return FieldError("", f"no JSON, at character {path[0] if path else 0}: {why}")
    pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
    where = "" if place == "body" else f" (in the {place})"
    return FieldError(pointer, f"{found['msg']}{where}")


async def on_http_exception(_request: Request, error: Exception) -> Response:
    """Handler for what the framework refuses: 404, 405, 413, ..."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for that class
    code = _CODES.get(error.status_code, "error")
    return problem(error.status_code, str(error.detail), code=code, headers=error.headers)


async def on_crash(request: Request, error: Exception) -> Response:
    """Handler for a bug: logged whole, told briefly."""
    _log.error("request_crashed", path=request.url.path, exc_info=error)
    return problem(500, "something went wrong here; the log says what", code="internal")

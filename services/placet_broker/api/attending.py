"""/v1/inputs/{id}/...: looking at an input, giving it time, and who may answer it."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from placet.domain.resolution import Input
from placet.process.access import authenticate
from placet.process.http import json_response
from placet_broker.api.bodies import (
    AudienceBody,
    ExtendBody,
    SignedBody,
    read,
    read_or_nothing,
)
from placet_broker.usecases import UseCases


def router(use_cases: UseCases) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/inputs", tags=["inputs"])
    attend = use_cases.attend_input

    @routes.post("/{id}/claim", response_model=Input, summary="Say that somebody looks at it")
    async def claim(id: str, request: Request) -> Response:
        """Shown for ten minutes to everybody who may answer; it stops nobody."""
        who = await authenticate(request)
        body = await read_or_nothing(SignedBody, request)
        return json_response((await attend.claim(id, who, body.named)).as_json())

    @routes.post("/{id}/release", response_model=Input, summary="Take a claim back")
    async def release(id: str, request: Request) -> Response:
        """A claim of somebody else stays."""
        who = await authenticate(request)
        body = await read_or_nothing(SignedBody, request)
        return json_response((await attend.release(id, who, body.named)).as_json())

    @routes.post("/{id}/audience", response_model=Input, summary="Name other approvers")
    async def edit_audience(id: str, request: Request) -> Response:
        """For operators; it stands in the history. Votes of those who are removed are gone."""
        who = await authenticate(request)
        body = await read(AudienceBody, request)
        changed = await attend.edit_audience(id, who, body.add, body.remove)
        return json_response(changed.as_json())

    @routes.post("/{id}/extend", response_model=Input, summary="More time")
    async def extend(id: str, request: Request) -> Response:
        """Move the deadline later, for whoever may answer; at most to 30 days from now."""
        who = await authenticate(request)
        body = await read(ExtendBody, request)
        record = await attend.extend(id, who, body.named, body.expires_at)
        return json_response(record.as_json())

    return routes

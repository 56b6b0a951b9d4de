"""/v1/audit: what happened to each input, as chains of hashes, and an export of them."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from placet.process.http import json_response
from placet_broker.api.callers import Operator, Reader
from placet_broker.rules.deadlines import aware
from placet_broker.usecases import UseCases

Since = Annotated[datetime | None, Query(description="Opened then or later; UTC unless said.")]
Until = Annotated[datetime | None, Query(description="Opened before that.")]
LINES = "application/x-ndjson"


def router(use_cases: UseCases) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/audit", tags=["audit"])
    trails = use_cases.export_audit

    @routes.get(
        "",
        summary="Export the audit trail",
        response_class=StreamingResponse,
        responses={200: {"content": {LINES: {}}}},
    )
    async def export_audit(who: Operator, since: Since = None, until: Until = None) -> Response:
        """JSON lines, one an input; the last line is a signed digest of them all."""
        lines: AsyncIterator[bytes] = trails.export(
            who, _utc(since, "/since"), _utc(until, "/until")
        )
        return StreamingResponse(lines, media_type=LINES)

    @routes.get("/key", summary="What exports are signed with")
    async def audit_key(_who: Reader) -> Response:
        """The public key (Ed25519, hex). Keep it apart from the exports."""
        return json_response({"key": trails.key})

    @routes.get("/{id}", summary="What happened to an input, as a chain of hashes")
    async def audit(who: Reader, id: str) -> Response:
        trail, flaws = await trails.one(who, id)
        return json_response(
            {
                "input_id": trail.id,
                "history": trail.history,
                "intact": not flaws,
                "flaws": flaws,
                "refused": trail.facts["refused"],
                "refused_count": trail.facts["refused_count"],
            }
        )

    return routes


def _utc(at: datetime | None, pointer: str) -> datetime | None:
    return None if at is None else aware(at, pointer)

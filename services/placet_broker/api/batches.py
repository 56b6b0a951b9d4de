"""Several answers in one request."""

from typing import Any

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response

from placet.errors import PlacetError
from placet.process import problems
from placet.process.access import authenticate
from placet.process.crash import crash_point
from placet.process.http import json_response
from placet_broker.api.bodies import BatchBody, read
from placet_broker.api.submissions import submitted
from placet_broker.usecases import UseCases
from placet_broker.usecases.submission import Answered


def router(use_cases: UseCases) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["inputs"])

    @routes.post("/inputs", summary="Answer several inputs")
    async def answer_several(request: Request) -> Response:
        """All of them settle, or none does: 202, or 200 if all had settled so before."""
        return await _answer(use_cases, request, None)

    @routes.post("/agents/{agent}/inputs", summary="Answer several of this agent")
    async def answer_several_of_agent(agent: str, request: Request) -> Response:
        """As above; an input that is not one of this agent's, or of a run below it, is 404."""
        return await _answer(use_cases, request, agent)

    return routes


async def _answer(use_cases: UseCases, request: Request, agent: str | None) -> Response:
    who = await authenticate(request)
    body = await read(BatchBody, request)
    submissions = [submitted(each, each.id, who, request, agent) for each in body.answers]
    if body.mode == "each":
        results = await use_cases.answer_batch.each(submissions)
        listed = [_result(s.input_id, each) for s, each in zip(submissions, results, strict=True)]
        return json_response({"results": listed})
    answered = await use_cases.answer_batch.all_or_none(submissions)
    crash_point("batch.respond")
    status = 202 if any(each.settled_now for each in answered) else 200
    inputs = [each.record.as_fragment() for each in answered]
    return json_response({"inputs": inputs}, status)


def _result(id: str, result: Answered | PlacetError) -> dict[str, Any]:
    """What one answer of several came to: the status that it would have had on its own."""
    if isinstance(result, PlacetError):
        refused = problems.of_error(result)
        return {
            "id": id,
            "status": refused.status_code,
            "problem": orjson.Fragment(bytes(refused.body)),
        }
    status = 202 if result.settled_now else 200
    return {"id": id, "status": status, "input": result.record.as_fragment()}

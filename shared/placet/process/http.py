"""The HTTP app of a process: its services' routers, probes, metrics, and one shape for errors."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import orjson
from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from placet.errors import PlacetError
from placet.process import problems
from placet.process.bodies import strict_body
from placet.process.edge import Edge
from placet.process.platform import Platform, Service

Waiting = Callable[[], list[str]]


def create_app(services: Sequence[Service], platform: Platform, waiting: Waiting = list) -> FastAPI:
    """The app with every service's routers.

    `waiting` tells what the process still waits for before its services start; until it is empty
    everything but the probes is 503. `app.state.platform` is the platform.
    """
    app = App(
        title="Placet",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        middleware=[Middleware(Edge, settings=platform.settings, waiting=waiting)],
    )
    app.state.platform = platform
    app.state.services = services
    _add_handlers(app)
    _add_probes(app, services, platform, waiting)
    for service in services:
        for router in service.routers:
            app.include_router(router, dependencies=[Depends(strict_body)])
    return app


class App(FastAPI):
    """FastAPI, but `/openapi.json` says what the routes do: it is what `contracts/` says."""

    def openapi(self) -> dict[str, Any]:
        """The document of this app's services, made once."""
        from placet.process import openapi  # noqa: PLC0415 - only where somebody asks

        if self.openapi_schema is None:
            self.openapi_schema = openapi.document(super().openapi(), self.state.services)
        return self.openapi_schema


class HotRoute(APIRoute):
    """A route that FastAPI documents and takes no part in serving, which halves its cost.

    The endpoint has the path's parameters and `request`, and reads and checks all else by itself, the
    body strictly. No dependency is solved, also none of what includes its router; one of its own is
    a TypeError.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What serves it: the endpoint, with nothing around it."""
        if self.dependencies:
            raise TypeError(f"{self.path} is a HotRoute and solves no dependencies; take them away")

        async def handle(request: Request) -> Response:
            given = {name: request.path_params[name] for name in self.param_convertors}
            response: Response = await self.endpoint(**given, request=request)
            return response

        return handle


def json_response(
    content: object, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """A JSON response, or one of bytes that are JSON already."""
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    return Response(body, status, headers, media_type="application/json")


def _add_handlers(app: FastAPI) -> None:
    app.add_exception_handler(PlacetError, problems.on_placet_error)
    app.add_exception_handler(RequestValidationError, problems.on_validation_error)
    app.add_exception_handler(HTTPException, problems.on_http_exception)
    app.add_exception_handler(Exception, problems.on_crash)


def _add_probes(
    app: FastAPI, services: Sequence[Service], platform: Platform, waiting: Waiting
) -> None:
    async def healthz(_request: Request) -> Response:
        return json_response({"status": "ok"})

    async def readyz(_request: Request) -> Response:
        reasons = [f"waiting for {reason}" for reason in waiting()]
        if not reasons:
            reasons = [f"{s.name}: {reason}" for s in services for reason in s.ready()]
            reasons += await platform.check()
        status = 503 if reasons else 200
        return json_response({"ready": not reasons, "reasons": reasons}, status)

    async def metrics(_request: Request) -> Response:
        text = await platform.metrics.render()
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    app.add_route("/healthz", healthz, include_in_schema=False)
    app.add_route("/readyz", readyz, include_in_schema=False)
    app.add_route("/metrics", metrics, include_in_schema=False)

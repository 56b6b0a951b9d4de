"""Renders pages, with the headers that keep foreign code out of them."""

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from placet.clock import Clock
from placet.errors import NotAllowed, NotFound, PlacetError, Unauthenticated
from placet.process.problems import status_of
from placet_broker.api.page import appearance
from placet_broker.api.page.returning import login_page

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent / "templates"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    # Not no-referrer: browsers then send the Origin of our own forms as null.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@cache
def _templates() -> "Environment":
    from jinja2 import (  # noqa: PLC0415 - only where a page is shown: a process starts sooner
        Environment,
        FileSystemLoader,
        StrictUndefined,
    )

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(visible=appearance.visible, value=appearance.value)
    return made


def page(template: str, *, status: int = 200, **names: Any) -> Response:
    """A page from a template."""
    html = _templates().get_template(template).render(**names)
    return Response(html, status, dict(HEADERS), media_type="text/html; charset=utf-8")


def refusal(error: PlacetError, request: Request) -> Response:
    """The page for what can't be done; from where a login is missing, one leads back here."""
    login = login_page(request.url.path) if isinstance(error, Unauthenticated) else ""
    return refused(error, login)


def refused(error: PlacetError, login: str, unknown: str = "Please log in") -> Response:
    """The same with another way to log in, if any; `unknown` is its title where nobody is known."""
    titles: dict[type[PlacetError], str] = {
        Unauthenticated: unknown,
        NotFound: "Not here",
        NotAllowed: "Not allowed",
    }
    title = titles.get(type(error), "That did not work")
    status = status_of(error)
    return page("refusal.html", status=status, title=title, detail=str(error), login=login)


def now_of(request: Request) -> datetime:
    """The time by the clock of this process."""
    clock: Clock = request.app.state.platform.clock
    return clock.now()


def moved(to: str) -> Response:
    """Go there with a GET."""
    return Response(status_code=303, headers={**HEADERS, "Location": to})


def stylesheet() -> Response:
    """The one stylesheet."""
    css = (FOLDER / "inbox.css").read_text()
    headers = {"Cache-Control": "max-age=300"}
    return Response(css, headers=headers, media_type="text/css; charset=utf-8")

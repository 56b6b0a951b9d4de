"""One rule for every JSON body that the framework reads: each key once, numbers that are numbers."""

from starlette.requests import Request

from placet.domain.digest import strict_json


async def strict_body(request: Request) -> None:
    """A FastAPI dependency of every route. Raises Invalid for JSON that two readers could read differently.

    A route that reads its body itself is strict by itself: nothing is parsed a second time for it.
    """
    if hasattr(request, "_json"):
        strict_json(await request.body())

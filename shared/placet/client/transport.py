"""Requests to Placet's REST API, and its problems as our errors."""

import os
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2

from placet.errors import (
    Changed,
    Conflict,
    FieldError,
    Invalid,
    NotAllowed,
    NotFound,
    PlacetError,
    SettingsError,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unconditional,
)

DEFAULT_URL = "http://127.0.0.1:8300"
CHANNEL_HEADER = "placet-channel"
_SIMPLE: Mapping[int, type[PlacetError]] = {
    401: Unauthenticated,
    404: NotFound,
    412: Changed,
    413: TooLarge,
    428: Unconditional,
}


class Transport:
    """One connection pool to one Placet.

    Args:
        url: scheme, host and port; `PLACET_URL` or http://127.0.0.1:8300 otherwise.
        key: an API key; `PLACET_KEY` otherwise.
        channel: through what people answer here, for the record: `sdk` or `cli`.

    Raises:
        SettingsError: there is no key.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        channel: str = "sdk",
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        key = key or os.environ.get("PLACET_KEY")
        if not key:
            raise SettingsError(
                "PLACET_KEY is missing: an API key (plc_...); `placet dev` prints one"
            )
        self.url = (url or os.environ.get("PLACET_URL") or DEFAULT_URL).rstrip("/")
        self._http = httpx2.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {key}", CHANNEL_HEADER: channel},
            timeout=httpx2.Timeout(90.0, connect=5.0),
            transport=transport,
        )

    async def get(self, path: str, **query: Any) -> Any:
        """The JSON of a GET. Raises the errors of `placet.errors`."""
        return await self._send(
            "GET", path, params={k: v for k, v in query.items() if v is not None}
        )

    async def get_tagged(self, path: str) -> tuple[Any, str]:
        """The JSON of a GET, and its ETag. Raises the errors of `placet.errors`."""
        response = await self._request("GET", path)
        return response.json(), response.headers.get("etag", "")

    async def post(
        self, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON of a POST. Raises the errors of `placet.errors`."""
        return await self._send("POST", path, json=body, headers=dict(headers or {}))

    async def put(
        self, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON of a PUT. Raises the errors of `placet.errors`."""
        return await self._send("PUT", path, json=body, headers=dict(headers or {}))

    async def delete(self, path: str, *, headers: Mapping[str, str] | None = None) -> Any:
        """The JSON of a DELETE. Raises the errors of `placet.errors`."""
        return await self._send("DELETE", path, headers=dict(headers or {}))

    async def stream(self, path: str, **query: Any) -> AsyncIterator[bytes]:
        """The bytes of a GET as they come. Raises the errors of `placet.errors`."""
        try:
            async with self._http.stream("GET", path, params=query) as response:
                if not response.is_success:
                    await response.aread()
                    raise problem(response)
                async for piece in response.aiter_bytes():
                    yield piece
        except httpx2.TransportError as error:
            raise Unavailable(f"Placet at {self.url} can't be reached: {error}") from error

    async def close(self) -> None:
        """Give the connections back."""
        await self._http.aclose()

    async def _send(self, method: str, path: str, **parts: Any) -> Any:
        response = await self._request(method, path, **parts)
        return response.json() if response.content else None

    async def _request(self, method: str, path: str, **parts: Any) -> httpx2.Response:
        try:
            response = await self._http.request(method, path, **parts)
        except httpx2.TransportError as error:
            raise Unavailable(f"Placet at {self.url} can't be reached: {error}") from error
        if response.is_success:
            return response
        raise problem(response)


def problem(response: httpx2.Response) -> PlacetError:
    """The error that a problem+json response tells of."""
    try:
        body = response.json()
    except ValueError:
        body = {}
    return problem_in(body, response.status_code)


def problem_in(body: Mapping[str, Any], status: int) -> PlacetError:
    """The error that a problem document of this status tells of."""
    detail = str(body.get("detail") or body.get("title") or f"HTTP {status}")
    if status == 409:
        return Conflict(detail, code=str(body.get("code", "conflict")), body=body)
    if status == 403:
        return NotAllowed(detail, code=str(body.get("code", "not_allowed")))
    if status in (400, 422):
        errors = [
            FieldError(e.get("pointer", ""), e.get("detail", "")) for e in body.get("errors", [])
        ]
        return Invalid(detail, errors)
    if status in (429, 502, 503, 504):
        return Unavailable(detail)
    return _SIMPLE.get(status, PlacetError)(detail)

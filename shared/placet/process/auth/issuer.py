"""The issuer of tokens over HTTP: its description, its keys, its token endpoint. All of it bounded."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from placet.clock import Clock, SystemClock
from placet.domain.digest import strict_json
from placet.errors import Invalid, Unavailable

MOST_BYTES = 256 * 1024
WITHIN = 5.0
"""Seconds for the whole of one request."""
PAUSE = 5.0
"""Seconds after a failure in which a discovery document is not asked for again."""
_PLAIN = {"Accept": "application/json", "Accept-Encoding": "identity"}
"""Nothing compressed: what is counted is what is held."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Description:
    """Where the issuer has what."""

    jwks_url: str
    authorization_url: str | None = None
    token_url: str | None = None


class GrantRefused(Unavailable):
    """The issuer does not take what it was sent, such as a code that was used before."""

    code = "grant_refused"


class Issuer:
    """One OpenID provider. Nothing is kept open between requests, and no redirect is followed."""

    def __init__(self, name: str, jwks_url: str | None = None, clock: Clock | None = None) -> None:
        self.name = name
        self._jwks_url = jwks_url
        self._seconds = WITHIN
        self._clock = clock or SystemClock()
        self._one = asyncio.Lock()
        self._described: Description | None = None
        self._failed: tuple[float, str] | None = None

    async def described(self) -> Description:
        """Where the issuer has what; asked for once, and after a failure not for a while.

        Raises Unavailable: it can't be had, is another issuer's, or names what is no https.
        """
        async with self._one:
            if self._described is not None:
                return self._described
            if self._failed and self._clock.monotonic() - self._failed[0] < PAUSE:
                raise Unavailable(self._failed[1])
            try:
                return await self._discovered()
            except Unavailable as error:
                self._failed = self._clock.monotonic(), str(error)
                raise

    async def keys(self) -> list[Any]:
        """The keys that the issuer lists now, as it wrote them. Raises Unavailable."""
        url = self._jwks_url or (await self._discovered()).jwks_url
        found = (await self.ask(url)).get("keys")
        if not isinstance(found, list):
            raise self._away(f"{url} lists no keys")
        return found

    async def _discovered(self) -> Description:
        """The discovery document as it is now."""
        url = self.name.rstrip("/") + "/.well-known/openid-configuration"
        self._described = self._description(await self.ask(url))
        return self._described

    async def ask(
        self, url: str, form: Mapping[str, str] | None = None, secret: tuple[str, str] | None = None
    ) -> dict[str, Any]:
        """The JSON object at a URL, or in reply to a form. Raises Unavailable."""
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._body(url, form, secret)
            found = strict_json(body)
        except TimeoutError as error:
            raise self._away(f"no reply within {self._seconds:g} s") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._away(f"{type(error).__name__} at {url}") from error
        except Invalid as error:
            raise self._away(f"{url} replied what is no JSON") from error
        if not isinstance(found, dict):
            raise self._away(f"{url} replied what is no JSON object")
        return found

    async def _body(
        self, url: str, form: Mapping[str, str] | None, secret: tuple[str, str] | None
    ) -> bytes:
        method = "GET" if form is None else "POST"
        auth = None if secret is None else httpx2.BasicAuth(*secret)
        async with (
            httpx2.AsyncClient(follow_redirects=False, timeout=self._seconds) as client,
            client.stream(method, url, data=form, auth=auth, headers=_PLAIN) as reply,
        ):
            if reply.status_code == 400:
                raise GrantRefused(f"{url} refused what was sent")
            if reply.status_code != 200:
                raise self._away(f"{url} replied {reply.status_code}")
            body = b""
            async for part in reply.aiter_raw():
                body += part
                if len(body) > MOST_BYTES:
                    raise self._away(f"{url} replied more than {MOST_BYTES} bytes")
        return body

    def _description(self, found: Mapping[str, Any]) -> Description:
        if found.get("issuer") != self.name:
            raise self._away("its discovery document is another issuer's")
        jwks_url = self._endpoint(found, "jwks_uri")
        if jwks_url is None:
            raise self._away("its discovery document has no jwks_uri")
        return Description(
            jwks_url,
            self._endpoint(found, "authorization_endpoint"),
            self._endpoint(found, "token_endpoint"),
        )

    def _endpoint(self, found: Mapping[str, Any], name: str) -> str | None:
        url = found.get(name)
        if url is None:
            return None
        if not isinstance(url, str) or not is_safe(url):
            raise self._away(f"the {name} of its discovery document is no https URL")
        return url

    def _away(self, why: str) -> Unavailable:
        return Unavailable(f"the issuer {self.name} can't be used now: {why}")


def is_safe(url: str) -> bool:
    """Whether what is fetched there can't be changed on the way: https, or this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.username is not None:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)

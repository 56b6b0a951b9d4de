"""A small OpenID provider on a port of its own: keys that rotate, logins; it misbehaves on request."""

import base64
import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlencode

import anyio
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.support.listening import listening

AUDIENCE = "placet-api"
CLIENT = "placet-inbox"
SECRET = "hush:hush %"  # noqa: S105 - of nobody
ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
SigningKey = RSAKey | ECKey | OKPKey


def now() -> int:
    return int(datetime.now(UTC).timestamp())


def rsa(kid: str = "rsa-1", bits: int = 2048) -> RSAKey:
    return RSAKey.generate_key(bits, {"kid": kid, "use": "sig"}, private=True)


@dataclass
class Provider:
    """The provider's state, which tests change as they like."""

    url: str = ""
    keys: list[SigningKey] = field(default_factory=lambda: [rsa()])
    fetched: int = 0
    """How often the keys were asked for."""
    jwks: str = "serve"
    """What becomes of a request for the keys: serve, hang, redirect, huge, error, nonsense."""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "alice"})
    """The claims of whoever logs in next."""
    id_token: dict[str, Any] = field(default_factory=dict)
    """Claims that the next id token has otherwise."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    issuer: str | None = None
    """What the discovery document says, if not the truth."""

    def claims(self, **more: Any) -> dict[str, Any]:
        made = {"iss": self.url, "aud": AUDIENCE, "sub": "alice", "iat": now(), "exp": now() + 300}
        return {name: value for name, value in {**made, **more}.items() if value is not None}

    def token(
        self,
        *,
        key: SigningKey | None = None,
        header: dict[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """A signed token; a claim that is None is left out."""
        signing = key or self.keys[0]
        said = {"alg": "RS256", "kid": signing.kid, **(header or {})}
        said = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(said, self.claims(**claims), signing, algorithms=ALGORITHMS)

    def rotate(self, kid: str) -> None:
        """Sign with another key from now on, and list no other."""
        self.keys = [rsa(kid)]

    async def discovery(self, _request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.issuer or self.url,
                "jwks_uri": f"{self.url}/jwks",
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
            }
        )

    async def listed(self, _request: Request) -> Response:
        self.fetched += 1
        match self.jwks:
            case "hang":
                await anyio.sleep_forever()
            case "redirect":
                return RedirectResponse(f"{self.url}/elsewhere")
            case "huge":
                return Response(b'{"keys":["' + b"x" * 10_000_000 + b'"]}')
            case "error":
                return Response(status_code=500)
            case "nonsense":
                return Response(b"<html>")
            case _:
                pass
        return self.served()

    def served(self) -> Response:
        return JSONResponse(KeySet([*self.keys]).as_dict(private=False))

    async def elsewhere(self, _request: Request) -> Response:
        return self.served()

    async def authorize(self, request: Request) -> Response:
        """Log `person` in at once, and send the browser back with a code."""
        asked = dict(request.query_params)
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{back}", 303)

    async def exchange(self, request: Request) -> Response:
        """A code for an id token, once, to the client that proves itself and holds the verifier."""
        form = {name: value[0] for name, value in parse_qs((await request.body()).decode()).items()}
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None or not self._is_client(request) or not _proves(form, asked):
            return JSONResponse({"error": "invalid_grant"}, 400)
        said = {"aud": CLIENT, "nonce": asked["nonce"], **self.person, **self.id_token}
        return JSONResponse({"token_type": "Bearer", "id_token": self.token(**said)})

    def _is_client(self, request: Request) -> bool:
        said = base64.b64decode(request.headers.get("authorization", "").partition(" ")[2]).decode()
        # As RFC 6749 has it: both parts are form-encoded before they are joined.
        return said == "placet-inbox:hush%3Ahush+%25"

    @property
    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.discovery),
                Route("/jwks", self.listed),
                Route("/elsewhere", self.elsewhere),
                Route("/authorize", self.authorize),
                Route("/token", self.exchange, methods=["POST"]),
            ]
        )


def _proves(form: dict[str, str], asked: dict[str, str]) -> bool:
    digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return (
        asked.get("code_challenge_method") == "S256"
        and asked.get("code_challenge") == challenge
        and form.get("redirect_uri") == asked["redirect_uri"]
        and form.get("grant_type") == "authorization_code"
    )


@asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    """A provider that listens."""
    made = Provider()
    async with listening(made.app) as url:
        made.url = url
        yield made

"""Logging in at the issuer: authorization code with PKCE.

State, nonce and verifier are derived from one secret that only the browser which began has, so
that nothing is kept here in between.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote_plus, urlencode

from placet.domain.visible import visible
from placet.errors import Unauthenticated, Unavailable
from placet.process.auth.identity import Identity
from placet.process.auth.issuer import GrantRefused

if TYPE_CHECKING:
    from placet.process.auth.tokens import Tokens

_AGAIN = "log in again"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login that a browser has begun; the browser keeps it in a cookie."""

    secret: str
    return_to: str

    @classmethod
    def begun(cls, return_to: str) -> "Attempt":
        """A new one."""
        return cls(secrets.token_urlsafe(32), return_to)

    @classmethod
    def from_cookie(cls, cookie: str) -> "Attempt":
        """The one that a cookie holds. Raises Unauthenticated: it holds none."""
        secret, _, place = cookie.partition(".")
        try:
            return_to = base64.urlsafe_b64decode(place + "=" * (-len(place) % 4)).decode()
        except ValueError:
            return_to = ""
        if len(secret) != _SECRET or not return_to:
            raise Unauthenticated(
                f"this browser has begun no login here, or too long ago; {_AGAIN}"
            )
        return cls(secret, return_to)

    @property
    def cookie(self) -> str:
        """As a cookie holds it."""
        return f"{self.secret}.{_encoded(self.return_to.encode())}"

    @property
    def state(self) -> str:
        """What comes back through the browser: another browser's does not fit."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """What the id token repeats: another login's does not fit."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """What proves at the token endpoint that the code was asked for by us."""
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        """The hash of the verifier, which the issuer is told first."""
        return _encoded(hashlib.sha256(self.verifier.encode()).digest())

    def _derived(self, purpose: str) -> str:
        return _encoded(hmac.digest(self.secret.encode(), purpose.encode(), "sha256"))


@dataclass(frozen=True, slots=True)
class Client:
    """What Placet is to the issuer."""

    id: str
    secret: str | None
    redirect_uri: str
    scopes: tuple[str, ...] = ("openid",)
    name: str = "single sign-on"
    """What people call the issuer: `Log in with NAME`."""


class Login:
    """Sends people to the issuer, and takes them back."""

    def __init__(self, tokens: "Tokens", client: Client) -> None:
        self._tokens = tokens
        self.client = client

    async def url(self, attempt: Attempt) -> str:
        """Where a browser goes to log in. Raises Unavailable: the issuer can't be asked."""
        described = await self._tokens.issuer.described()
        if described.authorization_url is None:
            raise self._lacks("authorization_endpoint")
        asked = {
            "response_type": "code",
            "client_id": self.client.id,
            "redirect_uri": self.client.redirect_uri,
            "scope": " ".join(dict.fromkeys(("openid", *self.client.scopes))),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        joint = "&" if "?" in described.authorization_url else "?"
        return described.authorization_url + joint + urlencode(asked)

    async def finish(self, attempt: Attempt, came_back: Mapping[str, str]) -> Identity:
        """Who has logged in, by what the browser brought back.

        Raises:
            Unauthenticated: it belongs to another login, the issuer refused, or its token is not
                valid.
            Unavailable: the issuer can't be asked.
        """
        if not hmac.compare_digest(came_back.get("state", "").encode(), attempt.state.encode()):
            raise Unauthenticated(f"this belongs to another login; {_AGAIN}")
        if came_back.get("iss", self._tokens.issuer.name) != self._tokens.issuer.name:
            raise Unauthenticated(f"another issuer sent this; {_AGAIN}")
        if "code" not in came_back:
            why = visible(came_back.get("error", "it gave no code"))[:100]
            raise Unauthenticated(f"{self.client.name} logged nobody in: {why}")
        token = await self._exchanged(attempt, came_back["code"])
        return await self._tokens.read(token, client=self.client.id, nonce=attempt.nonce)

    async def _exchanged(self, attempt: Attempt, code: str) -> str:
        """The id token for a code."""
        described = await self._tokens.issuer.described()
        if described.token_url is None:
            raise self._lacks("token_endpoint")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.client.redirect_uri,
            "code_verifier": attempt.verifier,
        }
        proof = None
        if self.client.secret is None:
            form["client_id"] = self.client.id
        else:
            proof = quote_plus(self.client.id), quote_plus(self.client.secret)
        try:
            found = (await self._tokens.issuer.ask(described.token_url, form, proof)).get(
                "id_token"
            )
        except GrantRefused as error:
            raise Unauthenticated(f"{self.client.name} did not take its code; {_AGAIN}") from error
        if not isinstance(found, str):
            raise Unauthenticated(f"{self.client.name} gave no id token; {_AGAIN}")
        return found

    def _lacks(self, what: str) -> Unavailable:
        return Unavailable(f"the issuer {self._tokens.issuer.name} describes no {what}")


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


_SECRET = 43
"""Characters of 32 bytes."""

"""Tokens of an issuer: which are taken, and what is kept of the issuer's keys."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import orjson
import pytest
from joserfc.jwk import ECKey, OctKey, OKPKey

from placet.domain.naming import names
from placet.errors import Unauthenticated, Unavailable
from placet.process.auth.identity import ClaimRules, Identity, identified
from placet.process.auth.issuer import Issuer, is_safe
from placet.process.auth.jwks import KEPT_FOR, MOST_KEYS, PAUSE, REFRESH_AFTER, KeyRing, readable
from placet.process.auth.tokens import Tokens
from placet.process.caller import OPERATOR_SCOPES, PERSON_SCOPES
from placet.testing.clock import HandClock
from tests.support.eventually import eventually
from tests.support.provider import AUDIENCE, Provider, now, rsa

pytestmark = pytest.mark.unit
ISSUER = "https://issuer.example"


class Turned(HandClock):
    """A clock whose spans are turned by hand as well."""

    passed = 0.0

    def monotonic(self) -> float:
        return self.passed

    def turn(self, by: timedelta) -> None:
        super().turn(by)
        self.passed += by.total_seconds()


class Desk(Issuer):
    """An issuer without a network: its provider's keys, counted, unless it is away."""

    def __init__(self, **rules: Any) -> None:
        super().__init__(ISSUER)
        self.provider = Provider(url=ISSUER)
        self.clock = Turned()
        self.asked = 0
        self.away = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.listed: list[Any] | None = None
        self.tokens = Tokens(self, (AUDIENCE, "other"), ClaimRules(**rules), self.clock)

    async def keys(self) -> list[Any]:
        self.asked += 1
        await self.gate.wait()
        if self.away:
            raise Unavailable(f"the issuer {ISSUER} can't be used now")
        if self.listed is not None:
            return self.listed
        return [key.as_dict(private=False) for key in self.provider.keys]

    async def read(self, **claims: Any) -> Identity:
        return await self.tokens.read(self.provider.token(**claims))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")


async def refused(desk: Desk, token: str, why: str) -> None:
    with pytest.raises(Unauthenticated, match=why):
        await desk.tokens.read(token)


async def test_a_token_of_the_issuer_names_a_person(desk: Desk) -> None:
    found = await desk.read(groups=["ops", "a:b", "x\u200by", 7, "/team/a"])
    assert (found.namespace, found.id) == ("default", "alice")
    assert found.groups == {"ops", "/team/a"}
    caller = found.caller()
    assert caller.scopes == PERSON_SCOPES
    assert caller.claimed_groups == found.groups
    assert caller.credential.startswith("token:")
    assert (await desk.read(aud=["x", AUDIENCE])).id == "alice"
    assert (await desk.read(aud="other")).id == "alice"


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (rsa("k"), "RS256"),
        (rsa("k"), "PS256"),
        (ECKey.generate_key("P-256", {"kid": "k"}, private=True), "ES256"),
        (OKPKey.generate_key("Ed25519", {"kid": "k"}, private=True), "EdDSA"),
    ],
    ids=["RS256", "PS256", "ES256", "EdDSA"],
)
@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
async def test_four_signatures_are_taken(desk: Desk, key: Any, algorithm: str) -> None:
    desk.provider.keys = [rsa("another"), key]
    token = desk.provider.token(key=key, header={"alg": algorithm})
    assert (await desk.tokens.read(token)).id == "alice"


async def test_unsigned_and_symmetric_tokens_are_refused(desk: Desk) -> None:
    claims = part(desk.provider.claims())
    for algorithm in ("none", "None", "HS256", "RS1", "RS512", "", None, 7, ["RS256"]):
        await refused(desk, f"{part({'alg': algorithm})}.{claims}.", "signed with|can't be read")
    await refused(desk, f"{part({'alg': 'RS256', 'kid': 'rsa-1'})}.{claims}.", "not valid")
    await refused(desk, f"{part({'alg': 'none'})}.{claims}.x", "signed with")


async def test_the_public_key_is_no_secret_to_sign_with(desk: Desk) -> None:
    public = desk.provider.keys[0]
    for secret in (public.as_pem(private=False), orjson.dumps(public.as_dict(private=False))):
        signed = f"{part({'alg': 'HS256', 'kid': 'rsa-1'})}.{part(desk.provider.claims())}"
        mac = base64.urlsafe_b64encode(hmac.digest(secret, signed.encode(), hashlib.sha256))
        await refused(desk, f"{signed}.{mac.decode().rstrip('=')}", "signed with")


async def test_a_forged_kid_finds_no_key_and_another_key_verifies_nothing(desk: Desk) -> None:
    forged = rsa("rsa-1")
    await refused(desk, desk.provider.token(key=forged), "not valid")
    for kid in ("../../dev/null", "x' OR 1=1", "", "rsa-1\u0000"):
        await refused(desk, desk.provider.token(header={"kid": kid}), "does not list")
    embedded = {"jwk": forged.as_dict(private=False), "jku": "https://evil.example/jwks"}
    await refused(desk, desk.provider.token(key=forged, header=embedded), "not valid")


async def test_a_token_without_a_kid_is_of_the_only_key_there_is(desk: Desk) -> None:
    token = desk.provider.token(header={"kid": None})
    assert (await desk.tokens.read(token)).id == "alice"
    several = Desk()
    several.provider.keys.append(rsa("rsa-2"))
    await refused(several, several.provider.token(header={"kid": None}), "does not list")


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": now() - 100}, "expired"),
        ({"exp": None}, "exp"),
        ({"exp": True}, "exp"),
        ({"exp": "9999999999"}, "exp"),
        ({"exp": 1e300}, "exp"),
        ({"nbf": now() + 1000}, "not valid yet"),
        ({"iat": now() + 1000}, "future"),
        ({"iat": -1}, "iat"),
        ({"iss": "https://issuer.example/"}, "issuer"),
        ({"iss": None}, "issuer"),
        ({"aud": "another"}, "aud"),
        ({"aud": ["another", 7]}, "aud"),
        ({"aud": {AUDIENCE: 1}}, "aud"),
        ({"aud": None}, "aud"),
        ({"aud": AUDIENCE + " "}, "aud"),
        ({"sub": None}, "sub"),
        ({"sub": 7}, "sub"),
        ({"sub": ""}, "sub"),
        ({"sub": " alice"}, "sub"),
        ({"sub": "service:ci"}, "colon"),
        ({"sub": "slack:U1"}, "colon"),
        ({"sub": "group:ops"}, "colon"),
        ({"sub": "placet-runner"}, "service"),
        ({"sub": "alice\u202e"}, "can't be seen"),
        ({"sub": "al\u200bice"}, "can't be seen"),
        ({"sub": "alice\n"}, "can't be seen"),
        ({"sub": "x" * 201}, "200 bytes"),
        ({"groups": {"ops": 1}}, "groups"),
        ({"groups": ["g"] * 501}, "groups"),
    ],
)
async def test_a_token_that_does_not_fit_is_refused_with_the_reason(
    desk: Desk, claims: dict[str, Any], why: str
) -> None:
    await refused(desk, desk.provider.token(**claims), why)


async def test_a_few_seconds_between_two_clocks_are_forgiven(desk: Desk) -> None:
    assert (await desk.read(exp=now() - 30, iat=now() + 30, nbf=now() + 30)).id == "alice"


@pytest.mark.parametrize(
    "token",
    ["", "x", "a.b", "a.b.c", "..", "a.b.c.d.e", "é.b.c", "a" * 20_000, ".".join(["a" * 6000] * 3)],
    ids=["empty", "word", "two", "letters", "dots", "encrypted", "beyond-ascii", "long", "huge"],
)
async def test_what_is_no_token_is_refused_before_anything_is_fetched(
    desk: Desk, token: str
) -> None:
    await refused(desk, token, "no API key|can't be read")
    assert desk.asked == 0


async def test_a_token_of_another_kind_or_with_demands_is_refused(desk: Desk) -> None:
    for header in ({"typ": "logout+jwt"}, {"typ": "dpop+jwt"}):
        with pytest.raises(Unauthenticated):
            await desk.tokens.read(desk.provider.token(header=header))
    assert (await desk.tokens.read(desk.provider.token(header={"typ": "at+jwt"}))).id == "alice"
    demanding = {"alg": "RS256", "kid": "rsa-1", "crit": ["exp"], "exp": 1}
    others: tuple[Any, ...] = (
        demanding,
        {**demanding, "crit": ["b64"], "b64": False},
        {"kid": ["x"]},
        [],
    )
    for other in others:
        with pytest.raises(Unauthenticated):
            await desk.tokens.read(f"{part(other)}.{part(desk.provider.claims())}.AA")


async def test_claims_that_are_no_object_or_say_a_thing_twice_are_refused(desk: Desk) -> None:
    from joserfc import jws  # noqa: PLC0415 - what jwt does not let one sign

    for body in (b"[]", b"7", b'{"sub":"alice","sub":"root"}', b"\xff", b"{"):
        header = {"alg": "RS256", "kid": "rsa-1"}
        token = jws.serialize_compact(header, body, desk.provider.keys[0])
        with pytest.raises(Unauthenticated):
            await desk.tokens.read(token)


async def test_a_namespace_is_the_operators_word_unless_a_claim_says_it() -> None:
    plain = Desk(namespace="team")
    assert (await plain.read(namespace="another")).namespace == "team"
    told = Desk(namespace_claim="tenant")
    assert (await told.read(tenant="red")).namespace == "red"
    for tenant in (None, "", 7, "a:b", "re\u200bd", ["red"]):
        await refused(told, told.provider.token(tenant=tenant), "tenant")


async def test_who_is_in_an_operators_group_operates() -> None:
    desk = Desk(operator_groups=("admins",), groups="roles")
    assert (await desk.read(groups=["admins"])).scopes == PERSON_SCOPES
    assert (await desk.read(roles="admins")).scopes == PERSON_SCOPES | OPERATOR_SCOPES
    assert (await desk.read(roles=["Admins", "admins "])).scopes == PERSON_SCOPES


async def test_an_address_names_somebody_only_where_it_is_verified() -> None:
    desk = Desk(subject="email")
    assert (await desk.read(email="a@x.example", email_verified=True)).id == "a@x.example"
    for verified in (None, False, "true", 1):
        token = desk.provider.token(email="a@x.example", email_verified=verified)
        await refused(desk, token, "verified")


def test_whoever_is_named_can_be_named_here() -> None:
    found = identified({"sub": "a/b|c@d", "iat": now()}, ClaimRules(), "token:1")
    assert names(found.id)


async def test_keys_are_fetched_once_for_many_at_once(desk: Desk) -> None:
    desk.gate.clear()
    token = desk.provider.token()
    reading = [asyncio.ensure_future(desk.tokens.read(token)) for _ in range(20)]
    await eventually(lambda: desk.asked)
    reading[0].cancel()
    desk.gate.set()
    found = await asyncio.gather(*reading[1:])
    assert {each.id for each in found} == {"alice"}
    assert desk.asked == 1


async def test_an_unknown_key_is_asked_for_at_most_once_in_a_while(desk: Desk) -> None:
    await desk.read()
    strange = desk.provider.token(key=rsa("strange"))
    for _ in range(5):
        await refused(desk, strange, "does not list")
    assert desk.asked == 1
    desk.clock.turn(timedelta(seconds=PAUSE + 1))
    for _ in range(5):
        await refused(desk, strange, "does not list")
    assert desk.asked == 2


async def test_a_new_key_is_found_and_an_old_one_is_worthless(desk: Desk) -> None:
    old = desk.provider.token()
    await desk.tokens.read(old)
    desk.provider.rotate("rsa-2")
    desk.clock.turn(timedelta(seconds=PAUSE + 1))
    assert (await desk.read()).id == "alice"
    await refused(desk, old, "does not list")


async def test_keys_are_fetched_again_before_they_are_old_and_nobody_waits(desk: Desk) -> None:
    await desk.read()
    desk.gate.clear()
    desk.clock.turn(timedelta(seconds=REFRESH_AFTER + 1))
    life = {"exp": now() + 100_000}
    assert (await desk.read(**life)).id == "alice"
    await eventually(lambda: desk.asked == 2)
    desk.gate.set()
    await desk.tokens.close()


async def test_the_last_keys_serve_while_the_issuer_is_away_and_then_nothing_is_open(
    desk: Desk,
) -> None:
    token = desk.provider.token(exp=now() + 1_000_000)
    await desk.tokens.read(token)
    desk.away = True
    desk.clock.turn(timedelta(seconds=KEPT_FOR - 10))
    assert (await desk.tokens.read(token)).id == "alice"
    desk.clock.turn(timedelta(seconds=PAUSE + 11))
    for _ in range(3):
        with pytest.raises(Unavailable, match=r"issuer\.example"):
            await desk.tokens.read(token)
    tries = desk.asked
    with pytest.raises(Unavailable):
        await desk.tokens.read(token)
    assert desk.asked == tries
    desk.away = False
    desk.clock.turn(timedelta(seconds=PAUSE + 1))
    assert (await desk.tokens.read(token)).id == "alice"


async def test_an_issuer_that_was_never_there_is_not_hammered(desk: Desk) -> None:
    desk.away = True
    for _ in range(10):
        with pytest.raises(Unavailable):
            await desk.read()
    assert desk.asked == 1


def listing(**changes: Any) -> dict[str, Any]:
    return {**rsa("k").as_dict(private=False), **changes}


@pytest.mark.parametrize(
    "listed",
    [
        listing(use="enc"),
        listing(alg="HS256"),
        listing(n="AQAB"),
        listing(n=7),
        listing(n="é"),
        listing(e=None),
        listing(n="AQ" * 60),
        rsa("k").as_dict(private=True),
        OctKey.generate_key(256, {"kid": "k"}).as_dict(private=True),
        ECKey.generate_key("P-384", {"kid": "k"}).as_dict(private=False),
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "k"},
        {"kty": "OKP", "crv": "Ed25519", "x": "!", "kid": "k"},
        {"kty": ["RSA"]},
        "RSA",
        None,
    ],
    ids=lambda listed: f"key-{listed.get('kty') if isinstance(listed, dict) else listed}",
)
def test_a_key_that_can_verify_nothing_safely_is_left_out(listed: Any) -> None:
    assert readable(listed) is None


async def test_only_so_many_keys_are_looked_at() -> None:
    listed = [listing(kid="first")] + [{}] * MOST_KEYS + [listing(kid="last")]

    async def fetch() -> Sequence[Any]:
        return listed

    ring = KeyRing(fetch, Turned())
    assert (await ring.key_for("RS256", "first")).kid == "first"
    with pytest.raises(Unauthenticated):
        await ring.key_for("RS256", "last")


async def test_an_id_token_belongs_to_its_login(desk: Desk) -> None:
    good = {"aud": "inbox", "nonce": "n"}

    async def read(**claims: Any) -> Identity:
        token = desk.provider.token(**{**good, **claims})
        return await desk.tokens.read(token, client="inbox", nonce="n")

    assert (await read()).id == "alice"
    assert (await read(aud=["inbox", "x"], azp="inbox")).id == "alice"
    for claims in (
        {"nonce": "another"}, {"nonce": None}, {"nonce": ""}, {"aud": AUDIENCE},
        {"aud": ["inbox", "x"]}, {"azp": "x"}, {"aud": ["inbox", "x"], "azp": "x"},
    ):  # fmt: skip
        with pytest.raises(Unauthenticated):
            await read(**claims)


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://issuer.example/jwks", True),
        ("http://127.0.0.1:1/jwks", True),
        ("http://issuer.example/jwks", False),
        ("http://127.0.0.1.evil.example/", False),
        ("https://user:pw@issuer.example/", False),
        ("file:///etc/passwd", False),
        ("//issuer.example", False),
        ("https://[::1", False),
    ],
)
def test_keys_come_by_https_or_from_this_machine(url: str, safe: bool) -> None:
    assert is_safe(url) is safe

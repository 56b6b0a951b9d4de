"""People who come by a token of an issuer, or log in there: against a provider that listens."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from placet.errors import SettingsError, Unavailable
from placet.process.access import SESSION_COOKIE
from placet.process.auth import nonce_of
from placet.process.auth.issuer import Issuer
from placet.process.auth.login import Attempt
from placet.process.platform import Databases
from placet.process.settings import load
from placet_broker.settings import BrokerSettings
from placet_broker.wiring import build
from tests.integration.broker.desk import ORIGIN, Desk, opened
from tests.support.provider import AUDIENCE, CLIENT, SECRET, Provider, now, provider, rsa

pytestmark = pytest.mark.integration
LOGIN_COOKIE = "placet_login"


@pytest.fixture
async def idp() -> AsyncIterator[Provider]:
    async with provider() as made:
        yield made


def shared(idp: Provider, **more: Any) -> dict[str, Any]:
    issuer = {"oidc_issuer": idp.url, "oidc_audience": AUDIENCE, "public_url": ORIGIN}
    return {**issuer, "oidc_operator_groups": "admins", **more}


CLIENT_SETTINGS: dict[str, Any] = {
    "oidc_client_id": CLIENT,
    "oidc_client_secret": SECRET,
    "oidc_name": "Corp ID",
}


@pytest.fixture
async def corp(databases: Databases, idp: Provider) -> AsyncIterator[Desk]:
    """A broker whose people come from the provider."""
    async with opened(databases, start=False, shared=shared(idp), **CLIENT_SETTINGS) as desk:
        yield desk


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def own(desk: Desk, token: str) -> Any:
    return await desk.http.get("/v1/keys/self", headers=bearer(token))


async def test_a_token_is_a_credential_of_that_person(corp: Desk, idp: Provider) -> None:
    reply = await own(corp, idp.token(sub="alice", groups=["ops"]))
    assert reply.status_code == 200
    assert (reply.json()["id"], reply.json()["person"]) == ("alice", True)
    assert "operate" not in reply.json()["scopes"]
    operator = await own(corp, idp.token(groups=["admins"]))
    assert "operate" in operator.json()["scopes"]
    assert "answer:as" not in operator.json()["scopes"]
    key = await corp.key("bob")
    assert (await corp.http.get("/v1/keys/self", headers=key)).json()["id"] == "bob"


async def test_a_token_answers_in_its_persons_name_alone(corp: Desk, idp: Provider) -> None:
    record = await corp.ask()
    headers = bearer(idp.token(sub="alice"))
    other = await corp.answer(record.id, True, headers, **{"from": "bob"})
    assert other.status_code == 403
    assert (await corp.answer(record.id, True, headers)).status_code == 202
    resolution = (await corp.get(record.id)).resolution
    assert resolution is not None
    assert resolution.by is not None
    assert resolution.by.id == "alice"


async def _unexpected(*_: Any) -> None:
    raise AssertionError


async def test_groups_of_a_token_are_remembered_where_they_changed(
    corp: Desk, idp: Provider
) -> None:
    directory = corp.platform.auth.directory
    await own(corp, idp.token(groups=["ops"]))
    assert (await directory.standing("default", "alice")).names == {"alice", "group:ops"}
    unexpected: Any = _unexpected
    directory.people.keep_claims, keep = unexpected, directory.people.keep_claims  # type: ignore[method-assign]
    await own(corp, idp.token(groups=["ops"], iat=now() + 5))
    directory.people.keep_claims = keep  # type: ignore[method-assign]
    await own(corp, idp.token(groups=["dev"], iat=now() + 10))
    assert "group:dev" in (await directory.standing("default", "alice")).names
    assert await directory.members("default", ["group:other"]) is None


async def test_who_only_reads_the_database_remembers_nothing(corp: Desk, idp: Provider) -> None:
    corp.platform.auth.writes = False
    assert (await own(corp, idp.token(groups=["ops"]))).status_code == 200
    assert await corp.platform.auth.directory.people.page("default") == []


async def test_a_person_who_is_disabled_is_refused_with_any_token(
    corp: Desk, idp: Provider
) -> None:
    token = idp.token()
    assert (await own(corp, token)).status_code == 200
    await corp.platform.auth.directory.people.disable("default", "alice")
    reply = await own(corp, token)
    assert (reply.status_code, "disabled" in reply.json()["detail"]) == (403, True)


async def test_a_token_that_is_no_good_is_401_and_says_why(corp: Desk, idp: Provider) -> None:
    for token, why in (
        (idp.token(exp=now() - 1000), "expired"),
        (idp.token(aud="another"), "aud"),
        (idp.token(key=rsa("forged")), "does not list"),
        ("plc_x_y", "API key"),
        ("x" * 30_000, "no API key"),
    ):
        reply = await own(corp, token)
        assert (reply.status_code, why in reply.json()["detail"]) == (401, True), why
        assert "bearer" in reply.headers["www-authenticate"].lower()


async def test_keys_that_rotate_are_found(corp: Desk, idp: Provider) -> None:
    assert (await own(corp, idp.token())).status_code == 200
    idp.rotate("rsa-2")
    tokens = corp.platform.auth.tokens
    assert tokens is not None
    tokens._ring._tried_at = None
    assert (await own(corp, idp.token())).status_code == 200
    assert idp.fetched == 2


@pytest.mark.parametrize("what", ["hang", "redirect", "huge", "error", "nonsense"])
async def test_keys_that_cannot_be_had_are_503_and_never_open(
    idp: Provider, databases: Databases, what: str
) -> None:
    idp.jwks = what
    async with opened(databases, start=False, shared=shared(idp)) as desk:
        tokens = desk.platform.auth.tokens
        assert tokens is not None
        if what == "hang":
            tokens.issuer._seconds = 0.3
        reply = await own(desk, idp.token())
        assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")
        assert idp.url in reply.json()["detail"]
        assert idp.fetched <= 1


async def test_another_issuers_discovery_document_is_not_gone_by(idp: Provider) -> None:
    idp.issuer = "https://evil.example"
    with pytest.raises(Unavailable, match="another issuer"):
        await Issuer(idp.url).keys()


async def test_keys_may_be_where_the_operator_says(databases: Databases, idp: Provider) -> None:
    at = shared(idp, oidc_jwks_url=f"{idp.url}/elsewhere")
    async with opened(databases, start=False, shared=at) as desk:
        assert (await own(desk, idp.token())).status_code == 200
        assert idp.fetched == 0


async def test_without_an_issuer_no_token_is_taken(still: Desk, idp: Provider) -> None:
    assert (await own(still, idp.token())).status_code == 401
    assert (await still.http.get("/login/oidc")).status_code == 404
    assert "Log in with" not in (await still.http.get("/login")).text


async def test_settings_that_lack_something_are_named(still: Desk) -> None:
    with pytest.raises(SettingsError, match="PLACET_PUBLIC_URL"):
        build(still.platform, oidc_client_id="x")
    assert "hush" not in repr(load(BrokerSettings, **CLIENT_SETTINGS))


async def begun(desk: Desk, return_to: str = "/inbox") -> httpx2.Response:
    return await desk.http.get("/login/oidc", params={"return_to": return_to})


async def at_the_issuer(response: httpx2.Response) -> str:
    """What the browser is sent back to, by the provider."""
    assert response.status_code == 303, response.text
    async with httpx2.AsyncClient() as browser:
        back = (await browser.get(response.headers["location"])).headers["location"]
    assert back.startswith(f"{ORIGIN}/login/oidc/callback?")
    return str(back).removeprefix(ORIGIN)


async def logged_in(desk: Desk, return_to: str = "/inbox") -> httpx2.Response:
    return await desk.http.get(await at_the_issuer(await begun(desk, return_to)))


async def test_a_person_logs_in_at_the_issuer_and_out_again(corp: Desk, idp: Provider) -> None:
    idp.person = {"sub": "alice", "groups": ["ops"]}
    record = await corp.ask()
    offered = await corp.http.get(f"/inbox/{record.id}")
    assert offered.status_code == 401
    assert f"/login?return_to=%2Finbox%2F{record.id}" in offered.text
    page = await corp.http.get("/login", params={"return_to": f"/inbox/{record.id}"})
    assert "Log in with Corp ID" in page.text
    assert f'href="/login/oidc?return_to=/inbox/{record.id}"' in page.text
    done = await logged_in(corp, f"/inbox/{record.id}")
    assert done.status_code == 200
    assert f'content="0; url=/inbox/{record.id}"' in done.text
    kept = [c for c in done.headers.get_list("set-cookie") if c.startswith(SESSION_COOKIE)]
    assert "HttpOnly" in kept[0]
    assert "samesite=strict" in kept[0].lower()
    assert "Max-Age=43200" in kept[0]
    session = corp.http.cookies[SESSION_COOKIE]
    assert LOGIN_COOKIE not in corp.http.cookies
    assert "alice" in (await corp.http.get(f"/inbox/{record.id}")).text
    caller = await corp.platform.auth.sessions.by_session(session)
    assert caller.claimed_groups == {"ops"}
    out = {"nonce": nonce_of(session)}
    await corp.http.post("/logout", data=out, headers={"Origin": ORIGIN})
    cookie = {"Cookie": f"{SESSION_COOKIE}={session}"}
    assert (await corp.http.get("/inbox", headers=cookie)).status_code == 401


async def test_what_is_sent_to_the_issuer_tells_nothing_that_could_be_used(
    corp: Desk, idp: Provider
) -> None:
    first, second = await begun(corp), await begun(corp)
    asked = [parse_qs(urlsplit(each.headers["location"]).query) for each in (first, second)]
    assert asked[0]["redirect_uri"] == [f"{ORIGIN}/login/oidc/callback"]
    assert asked[0]["code_challenge_method"] == ["S256"]
    for name in ("state", "nonce", "code_challenge"):
        assert asked[0][name] != asked[1][name]
    secret = corp.http.cookies[LOGIN_COOKIE].partition(".")[0]
    assert secret not in second.headers["location"]
    cookie = second.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


async def test_a_login_that_another_browser_began_logs_nobody_in(corp: Desk, idp: Provider) -> None:
    """Login CSRF: the victim's browser is sent to the callback with the attacker's code."""
    back = await at_the_issuer(await begun(corp))
    corp.http.cookies.clear()
    assert (await corp.http.get(back)).status_code == 401
    await begun(corp)
    refused = await corp.http.get(back)
    assert refused.status_code == 401
    assert "another login" in refused.text
    assert SESSION_COOKIE not in corp.http.cookies
    assert len(idp.codes) == 1


async def test_a_login_is_taken_once(corp: Desk) -> None:
    first = await begun(corp)
    attempt = corp.http.cookies[LOGIN_COOKIE]
    back = await at_the_issuer(first)
    assert (await corp.http.get(back)).status_code == 200
    corp.http.cookies.clear()
    again = await corp.http.get(back, headers={"Cookie": f"{LOGIN_COOKIE}={attempt}"})
    assert again.status_code == 401
    assert SESSION_COOKIE not in corp.http.cookies


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"aud": AUDIENCE},
        {"iss": "https://evil.example"},
        {"exp": now() - 1000},
        {"sub": "service:ci"},
        {"sub": "al\u200bice"},
    ],
)
async def test_an_id_token_that_does_not_fit_logs_nobody_in(
    corp: Desk, idp: Provider, claims: dict[str, Any]
) -> None:
    idp.id_token = claims
    assert (await logged_in(corp)).status_code == 401
    assert SESSION_COOKIE not in corp.http.cookies


async def test_what_the_issuer_refuses_is_said_and_harmless(corp: Desk) -> None:
    state = parse_qs(urlsplit((await begun(corp)).headers["location"]).query)["state"][0]
    error = {"state": state, "error": "<script>access_denied"}
    reply = await corp.http.get("/login/oidc/callback", params=error)
    assert reply.status_code == 401
    assert "&lt;script&gt;access_denied" in reply.text
    await begun(corp)
    assert (await corp.http.get("/login/oidc/callback")).status_code == 401


async def test_who_is_disabled_does_not_log_in(corp: Desk) -> None:
    await corp.platform.auth.directory.people.disable("default", "alice")
    reply = await logged_in(corp)
    assert reply.status_code == 403
    assert "disabled" in reply.text
    assert SESSION_COOKIE not in corp.http.cookies


AWAY = [
    "//evil.example",
    "/\\evil.example",
    f"{ORIGIN}//evil.example",
    "https://evil.example",
    f"{ORIGIN}/inbox",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "/inbox\r\nSet-Cookie: a=b",
    "/inbox//evil.example",
    "javascript:alert(1)",
    "inbox",
    "",
    " /inbox",
    "/in\u202ebox",
    "/inbox\x00",
    "/" + "x" * 600,
]


@pytest.mark.parametrize("place", AWAY, ids=[f"place-{n}" for n in range(len(AWAY))])
async def test_ap_110_a_login_leads_to_a_path_of_ours_alone(corp: Desk, place: str) -> None:
    assert (await begun(corp, place)).status_code == 400
    page = await corp.http.get("/login", params={"return_to": place})
    assert 'href="/login/oidc?return_to=/inbox"' in page.text


async def test_ap_110_also_where_the_browsers_own_cookie_says_another(corp: Desk) -> None:
    forged = Attempt.begun("//evil.example")
    at_issuer = corp.broker._login
    assert at_issuer is not None
    headers = {"location": await at_issuer.url(forged)}
    back = await at_the_issuer(httpx2.Response(303, headers=headers))
    reply = await corp.http.get(back, headers={"Cookie": f"{LOGIN_COOKIE}={forged.cookie}"})
    assert reply.status_code == 200
    assert 'content="0; url=/inbox"' in reply.text


async def test_an_issuer_that_is_away_is_named_on_the_page(corp: Desk, idp: Provider) -> None:
    idp.issuer = "https://another.example"
    reply = await begun(corp)
    assert reply.status_code == 503
    assert idp.url in reply.text

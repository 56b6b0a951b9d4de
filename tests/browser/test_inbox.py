"""What a person does in the inbox, in a real browser."""

from typing import Any

import httpx2
import pytest
from playwright.async_api import Page, expect

from tests.support.commands import Dev
from tests.support.eventually import eventually

pytestmark = pytest.mark.browser


async def log_in(page: Page, dev: Dev) -> None:
    """Open the one-time link and press its button: only that uses it up."""
    await page.goto(dev.link)
    await page.get_by_role("button", name="Log in here").click()
    await expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


async def test_a_person_approves_the_exact_call_and_sees_how_it_settled(
    page: Page, dev: Dev
) -> None:
    dev.asks()
    await log_in(page, dev)
    await page.get_by_role("link", name="drop_database").click()
    await expect(page.get_by_text("staging").first).to_be_visible()
    focused = await page.evaluate("document.activeElement && document.activeElement.className")
    assert "approve" not in (focused or ""), "Enter must not approve"
    await page.get_by_role("button", name="Allow once", exact=True).click()
    await expect(page.get_by_text("approved", exact=False).first).to_be_visible()
    await eventually(dev.effects)
    assert [effect["name"] for effect in dev.effects()] == ["staging"]


async def test_a_person_denies_with_a_reason_and_nothing_runs(page: Page, dev: Dev) -> None:
    run = dev.asks()
    await log_in(page, dev)
    await page.get_by_role("link", name="drop_database").click()
    await page.get_by_label("Reason").first.fill("not on a Friday")
    await page.get_by_role("button", name="Deny").click()
    await expect(page.get_by_text("not on a Friday").first).to_be_visible()
    shown = dev.placet("show", run["id"], "--json").json
    assert dev.effects() == []
    assert shown["id"] == run["id"]


async def test_what_a_tool_argument_says_is_shown_and_not_obeyed(page: Page, dev: Dev) -> None:
    hostile = "<img src=x onerror=document.title='gotcha'>\u202e\u0007"
    alerts: list[str] = []
    page.on("dialog", lambda dialog: alerts.append(dialog.message))
    body = {
        "kind": "tool_approval",
        "call": {"id": "c1", "tool": "wire", "args": {"to": hostile}},
        "agent_id": "billing",
        "run_id": "job-1",
        "context": {},
        "risk": "critical",
        "requested_at": "2026-01-02T03:04:05Z",
    }
    async with httpx2.AsyncClient(base_url=dev.url, headers=dev.headers) as http:
        assert (await http.post("/v1/requests", json=body)).status_code == 202
    await log_in(page, dev)
    await page.get_by_role("link", name="wire").click()
    assert await page.title() != "gotcha"
    assert alerts == []
    text = await page.inner_text("main")
    assert "<img src=x" in text
    assert "\u202e" not in text
    assert "U+202E" in text


async def ask(dev: Dev, *requests: dict[str, Any]) -> list[str]:
    """What a service asks, which alice may answer."""
    async with httpx2.AsyncClient(base_url=dev.url, headers=dev.headers) as http:
        scopes = ["runs:write", "inputs:read"]
        key = {"name": "billing", "service": "billing", "scopes": scopes}
        made = await http.post("/v1/keys", json=key)
        assert made.status_code == 201, made.text
        headers = {"Authorization": f"Bearer {made.json()['key']}"}
        replies = [await http.post("/v1/requests", json=r, headers=headers) for r in requests]
    assert [reply.status_code for reply in replies] == [202] * len(requests)
    return [reply.json()["id"] for reply in replies]


def call(tool: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "tool_approval",
        "call": {"id": tool, "tool": tool, "args": {"to": "bob"}},
        "agent_id": "billing",
        "run_id": "job-1",
        "requested_at": "2026-01-02T03:04:05Z",
        **more,
    }


async def outcome_of(dev: Dev, id: str) -> dict[str, Any]:
    """How it ended, once it has."""

    async def look() -> dict[str, Any] | None:
        async with httpx2.AsyncClient(base_url=dev.url, headers=dev.headers) as http:
            resolution = (await http.get(f"/v1/inputs/{id}")).json()["resolution"]
            return resolution and dict(resolution["outcome"])

    found: dict[str, Any] = await eventually(look)
    return found


async def test_trust_is_a_button_where_it_is_offered_and_says_what_it_does(
    page: Page, dev: Dev
) -> None:
    trusted, plain = await ask(
        dev, call("send", accepts="words", trust=True), call("wipe", accepts="words")
    )
    await log_in(page, dev)
    await page.goto(f"{dev.url}/inbox/{plain}")
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    await expect(page.get_by_role("button", name="Trust")).to_have_count(0)
    await page.goto(f"{dev.url}/inbox/{trusted}")
    await expect(page.get_by_text("with any arguments", exact=False)).to_be_visible()
    await page.get_by_role("button", name="Trust").click()
    outcome = await outcome_of(dev, trusted)
    assert (outcome["decision"], outcome["trust"]) == ("approved", True)


async def test_approving_says_yes_where_an_evaluator_reads_words(page: Page, dev: Dev) -> None:
    (id,) = await ask(dev, call("send", accepts="anything"))
    await log_in(page, dev)
    await page.goto(f"{dev.url}/inbox/{id}")
    await page.get_by_role("button", name="Approve").click()
    assert (await outcome_of(dev, id))["content"] == "yes"


async def test_ap_22_each_prompt_of_several_is_answered_on_its_own(page: Page, dev: Dev) -> None:
    first, second, third = await ask(dev, call("one"), call("two"), call("three"))
    await log_in(page, dev)
    await page.get_by_role("link", name="two").click()
    await page.get_by_role("button", name="Deny").click()
    await expect(page.get_by_text("denied", exact=False).first).to_be_visible()
    await page.goto(f"{dev.url}/inbox")
    await expect(page.get_by_role("link", name="two")).to_have_count(0)
    await page.get_by_role("link", name="one").click()
    await page.get_by_role("button", name="Approve").click()
    await expect(page.get_by_text("approved", exact=False).first).to_be_visible()
    decisions = [(await outcome_of(dev, id))["decision"] for id in (first, second)]
    assert decisions == ["approved", "denied"]
    shown = dev.placet("show", third, "--json").json
    assert shown["state"] == "pending"


async def test_the_login_link_works_once(page: Page, dev: Dev) -> None:
    await page.goto(dev.link)
    await page.goto(dev.link)
    await page.get_by_role("button", name="Log in here").click()
    await expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    await page.context.clear_cookies()
    await page.goto(dev.link)
    await page.get_by_role("button", name="Log in here").click()
    await expect(page.get_by_text("used before", exact=False)).to_be_visible()

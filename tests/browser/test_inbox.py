"""What a person does in the inbox, in a real browser."""

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


async def test_the_login_link_works_once(page: Page, dev: Dev) -> None:
    await page.goto(dev.link)
    await page.goto(dev.link)
    await page.get_by_role("button", name="Log in here").click()
    await expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    await page.context.clear_cookies()
    await page.goto(dev.link)
    await page.get_by_role("button", name="Log in here").click()
    await expect(page.get_by_text("used before", exact=False)).to_be_visible()

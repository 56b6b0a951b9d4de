"""A real browser, and a Placet of its own to look at."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright

from tests.support.commands import Dev, running

BROWSER = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Dev]:
    """Give a `placet dev` whose login link is unused."""
    with running(tmp_path) as dev:
        yield dev


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """Give an empty tab; fails, never skips, where there is no browser."""
    assert BROWSER, "no browser: run `make system`, which installs chromium"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield await browser.new_page()
        await browser.close()

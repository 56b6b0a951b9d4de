"""The generated contracts, made once for the session."""

import pytest

from placet.cli.contracts.__main__ import contents


@pytest.fixture(scope="session")
def generated() -> dict[str, bytes]:
    """Every file of `contracts/`, as the code says now."""
    return contents()

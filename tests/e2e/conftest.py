"""What all end-to-end tests share."""

from pathlib import Path

import pytest

from tests.support.commands import dev  # noqa: F401 - a fixture

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)

"""A folder for an agent, and things beside it that no file tool may reach."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.workspace.desk import Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A folder with a little of everything in it."""
    with tempfile.TemporaryDirectory(prefix="placet-desk-") as name:
        made = Desk(Path(os.path.realpath(name)))
        made.furnish()
        yield made

"""Sandboxes of every kind that this machine's user can have."""

import os
from collections.abc import Iterator

import pytest

from tests.integration.workspace.site import Site, site

MOUNTED = ("bubblewrap", "namespaces")
ISOLATING = (*MOUNTED, *(("another user",) if os.geteuid() == 0 else ()))


@pytest.fixture(params=ISOLATING)
def isolated(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A sandbox that isolates; Placet's files are beside the folder."""
    with site(request.param) as made:
        yield made


@pytest.fixture(params=MOUNTED)
def surrounded(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A sandbox with a file system of its own; Placet's files are in the folder."""
    with site(request.param, inside=True) as made:
        yield made


@pytest.fixture(params=(*ISOLATING, "none"))
def any_site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Every way in which lines run, without a sandbox too."""
    with site(request.param, unsandboxed=request.param == "none") as made:
        yield made


@pytest.fixture(params=[*((n, False) for n in ISOLATING), *((n, True) for n in MOUNTED)], ids=str)
def guarded(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Every sandbox, with Placet's files where it can have them: beside the folder, and in it."""
    name, inside = request.param
    with site(name, inside=inside) as made:
        yield made

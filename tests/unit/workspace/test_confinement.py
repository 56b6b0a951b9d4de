"""No path, and no change of what a path stands for, leads out of the folder."""

import ctypes
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placet.errors import ToolError
from tests.unit.workspace.desk import HIDDEN, LINKS, Desk

pytestmark = pytest.mark.unit

HERE, EXCHANGE = -100, 2
PIECES = st.sampled_from(
    [
        *LINKS,
        *("..", ".", "", "/", "//", "~", "src", "a.txt", "b.txt", "pipe", "socket", "raw", "new"),
        *("secret.txt", "outside", "{base}", "{base}/outside", "{folder}", "/etc/passwd", "/proc"),
        *("/proc/self/cwd", "/proc/self/root", "\0", "\ud800", "\udcff", "%2e%2e", "..\\", "é"),
    ]
)
ANY = st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=7).map("/".join)
WAYS_OUT = st.sampled_from(
    [
        *LINKS,
        "..",
        "src/..",
        "{base}",
        "{folder}/..",
        "//{base}",
        "/".join(("link-up", "work", "..")),
    ]
)
TARGETS = st.sampled_from(["secret.txt", "outside/secret.txt", "outside", "new", "outside/x/new"])
PATHS = st.one_of(ANY, st.tuples(WAYS_OUT, TARGETS).map("/".join))
CALLS: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.just("read_file"), st.fixed_dictionaries({})),
    st.tuples(st.just("list_dir"), st.fixed_dictionaries({})),
    st.tuples(st.just("write_file"), st.fixed_dictionaries({"content": st.just("written")})),
    st.tuples(
        st.just("edit_file"),
        st.fixed_dictionaries({"old": st.sampled_from([HIDDEN, "one"]), "new": st.just("x")}),
    ),
)


@settings(max_examples=300, deadline=None)
@given(calls=st.lists(st.tuples(PATHS, CALLS), min_size=1, max_size=5))
def test_no_path_reads_or_writes_outside_the_folder(calls: list[Any]) -> None:
    with tempfile.TemporaryDirectory(prefix="placet-desk-") as name:
        desk = Desk(Path(os.path.realpath(name)))
        desk.furnish()
        before = desk.outside()
        for path, (tool, args) in calls:
            named = path.replace("{base}", str(desk.base)).replace("{folder}", str(desk.folder))
            with suppress(ToolError):
                assert HIDDEN not in repr(desk.call_at_once(tool, path=named, **args))
            with suppress(ToolError):
                desk.fingerprint(tool, path=named, **args)
        assert desk.outside() == before


@contextmanager
def swapping(desk: Desk, name: str, make: Callable[[Path], None]) -> Iterator[None]:
    """Exchange something and what `make` makes, in one step and back, as fast as it goes.

    At the end the thing itself is in its place.
    """
    done, renameat2 = Event(), ctypes.CDLL(None).renameat2
    place, evil = desk.folder / name, desk.folder / "evil"
    make(evil)
    kind = stat.S_IFMT(evil.lstat().st_mode)

    def swap() -> None:
        while not done.is_set():
            renameat2(HERE, os.fsencode(place), HERE, os.fsencode(evil), EXCHANGE)
            if kind not in (stat.S_IFMT(each.lstat().st_mode) for each in (place, evil)):
                evil.unlink()  # it was replaced by a file that was written
                make(evil)

    thread = Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if stat.S_IFMT(place.lstat().st_mode) == kind:
            renameat2(HERE, os.fsencode(place), HERE, os.fsencode(evil), EXCHANGE)


@pytest.mark.parametrize(
    ("name", "to", "path"),
    [
        ("src", "outside", "src/secret.txt"),
        ("src", "outside", "src/deeper/new.txt"),
        ("b.txt", "secret.txt", "b.txt"),
    ],
)
def test_a_link_that_is_put_there_at_the_last_moment_leads_nowhere(
    desk: Desk, name: str, to: str, path: str
) -> None:
    before = desk.outside()
    args: dict[str, dict[str, str]] = {
        "read_file": {},
        "write_file": {"content": "written"},
        "edit_file": {"old": HIDDEN, "new": "x"},
    }
    with swapping(desk, name, lambda evil: evil.symlink_to(desk.base / to)):
        for number in range(1_500):
            tool = list(args)[number % 3]
            with suppress(ToolError):
                assert HIDDEN not in repr(desk.call_at_once(tool, path=path, **args[tool]))
    assert desk.outside() == before
    desk.call_at_once("write_file", path=path, content="written")  # the path itself may be used
    assert "written" in repr(desk.call_at_once("read_file", path=path))


def test_a_pipe_that_is_put_there_at_the_last_moment_does_not_hang(desk: Desk) -> None:
    with swapping(desk, "b.txt", os.mkfifo):
        for _ in range(3_000):
            with suppress(ToolError):
                assert desk.call_at_once("read_file", path="b.txt")["content"] == "hello\n"

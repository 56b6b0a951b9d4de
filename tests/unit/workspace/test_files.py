"""The file tools: what they read and write, and what they say of what they can't."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest

from placet.agents.executor import MAX_RESULT_BYTES
from placet.agents.workspace import Workspace, files
from placet.agents.workspace.viewing import read_file
from placet.errors import ToolError
from tests.unit.workspace.desk import Desk

pytestmark = pytest.mark.unit


def test_a_file_is_read_as_it_is(desk: Desk) -> None:
    assert desk.call("read_file", path="b.txt") == {"content": "hello\n", "size": 6}


@pytest.mark.parametrize("path", ["src/a.txt", "./src//a.txt", "src/./a.txt", "{folder}/src/a.txt"])
def test_one_file_has_many_paths(desk: Desk, path: str) -> None:
    told = desk.call("read_file", path=path.format(folder=desk.folder))
    assert told["content"] == "one\ntwo\nthree\n"


def test_a_long_file_is_read_in_parts_of_whole_lines(desk: Desk) -> None:
    text = "".join(f"line {n} with ümlauts and “quotes”\n" for n in range(40_000))
    (desk.folder / "long").write_text(text)
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        told = desk.call("read_file", path="long", offset=offset)
        assert len(orjson.dumps(told)) < MAX_RESULT_BYTES
        assert told["content"].endswith("\n")
        parts.append(told["content"])
        offset = told.get("next_offset")
    assert len(parts) > 3
    assert "".join(parts) == text


@pytest.mark.parametrize("character", ["\x01", "é", "😀", "\n"])
def test_whatever_a_file_holds_a_part_of_it_fits_into_a_result(desk: Desk, character: str) -> None:
    text = character * 300_000
    (desk.folder / "odd").write_text(text, newline="")
    read = ""
    offset: int | None = 0
    while offset is not None:
        told = desk.call("read_file", path="odd", offset=offset)
        assert len(orjson.dumps(told)) < MAX_RESULT_BYTES
        read += told["content"]
        offset = told.get("next_offset")
    assert read == text


def test_a_part_starts_at_a_character_and_has_the_size_that_was_asked_for(desk: Desk) -> None:
    (desk.folder / "u").write_text("aüüüb")
    assert desk.call("read_file", path="u", offset=2, limit=3) == {
        "content": "ü",
        "size": 8,
        "next_offset": 5,
    }
    assert desk.call("read_file", path="u", offset=100) == {"content": "", "size": 8}
    with pytest.raises(ToolError, match="limit is too small"):
        desk.call("read_file", path="u", offset=1, limit=1)


def test_a_huge_file_costs_no_more_than_a_part_of_it(desk: Desk) -> None:
    with (desk.folder / "huge").open("wb") as file:
        file.truncate(10 * 2**30)
    told = desk.call("read_file", path="huge", offset=9 * 2**30, limit=10)
    assert told == {"content": "\0" * 10, "size": 10 * 2**30, "next_offset": 9 * 2**30 + 10}


def test_a_folder_is_listed_by_name_with_what_each_is(desk: Desk) -> None:
    told = desk.call("list_dir")
    assert told["entries"][:4] == [
        "b.txt",
        f"dangling -> {desk.base}/made-through-a-link",
        *(
            "link-in-folder -> src/a.txt",
            f"link-to-file -> {desk.base}/secret.txt",
        ),
    ]
    assert "src/" in told["entries"]
    assert desk.call("list_dir", path="src") == {"entries": ["a.txt"]}


def test_a_large_folder_is_cut_and_says_so(desk: Desk) -> None:
    (desk.folder / "many").mkdir()
    for number in range(1_200):
        (desk.folder / f"many/{number:04}").touch()
    told = desk.call("list_dir", path="many")
    assert (len(told["entries"]), told["entries"][-1], told["left_out"]) == (1_000, "0999", 200)


def test_a_name_that_is_no_text_is_listed_all_the_same(desk: Desk) -> None:
    os.mkdir(os.fsencode(desk.folder / "src") + b"/\xff")
    assert desk.call("list_dir", path="src") == {"entries": ["a.txt", "\ufffd/"]}


def test_a_file_is_written_whole_with_the_folders_that_it_needs(desk: Desk) -> None:
    assert (
        desk.call("write_file", path="x/y/z.txt", content="é\r\n") == "wrote 4 bytes to x/y/z.txt"
    )
    assert (desk.folder / "x/y/z.txt").read_bytes() == "é\r\n".encode()


def test_a_file_that_is_replaced_keeps_its_rights(desk: Desk) -> None:
    target = desk.folder / "b.txt"
    for mode in (0o755, 0o600, 0o444):
        target.chmod(mode)
        desk.call("write_file", path="b.txt", content=f"{mode}")
        assert stat.S_IMODE(target.stat().st_mode) == mode
        assert target.read_text() == f"{mode}"


def test_a_new_file_has_the_rights_that_the_umask_leaves(desk: Desk) -> None:
    before = os.umask(0o027)
    try:
        desk.call("write_file", path="new", content="")
    finally:
        os.umask(before)
    assert stat.S_IMODE((desk.folder / "new").stat().st_mode) == 0o640


def test_what_others_share_by_a_hard_link_is_not_changed(desk: Desk) -> None:
    os.link(desk.base / "secret.txt", desk.folder / "hard")
    before = desk.outside()
    desk.call("write_file", path="hard", content="x")
    assert desk.outside() == before
    assert (desk.folder / "hard").read_text() == "x"


def test_nothing_is_left_beside_a_file_that_was_written_or_could_not_be(desk: Desk) -> None:
    before = sorted(os.listdir(desk.folder))
    desk.call("write_file", path="b.txt", content="x")
    with pytest.raises(ToolError):
        desk.call("write_file", path="n" * 300, content="x")
    assert sorted(os.listdir(desk.folder)) == before


def test_a_reader_never_sees_half_of_a_file(desk: Desk) -> None:
    texts = {"a" * 500_000, "b" * 500_000}
    target = desk.folder / "b.txt"
    desk.call("write_file", path="b.txt", content=min(texts))
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(
            lambda: [desk.call("write_file", path="b.txt", content=t) for t in [*texts] * 20]
        )
        while not writing.done():
            assert target.read_text() in texts


def test_one_passage_is_replaced_and_the_rest_stays(desk: Desk) -> None:
    (desk.folder / "crlf").write_bytes(b"a\r\nb\r\n")
    assert desk.call("edit_file", path="crlf", old="b\r", new="c\r") == "edited crlf"
    assert (desk.folder / "crlf").read_bytes() == b"a\r\nc\r\n"


def test_edits_of_one_turn_do_not_undo_each_other(desk: Desk) -> None:
    (desk.folder / "n").write_text("".join(f"<{n}>" for n in range(50)))
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda n: desk.call("edit_file", path="n", old=f"<{n}>", new=f"[{n}]"), range(50)
            )
        )
    assert (desk.folder / "n").read_text() == "".join(f"[{n}]" for n in range(50))


@pytest.mark.parametrize(
    ("tool", "args", "said"),
    [
        ("read_file", {"path": "nope"}, "'nope': there is no such file; list_dir shows"),
        ("read_file", {"path": "b.txt/x"}, "a part of the path is a file"),
        ("read_file", {"path": "src"}, "'src' is a folder; list_dir shows"),
        ("read_file", {"path": "."}, "is your folder itself"),
        ("read_file", {"path": ""}, "the path has 0 bytes"),
        ("read_file", {"path": "x" * 5_000}, "the path has 5000 bytes"),
        ("read_file", {"path": "x" * 300}, "a name in it is too long"),
        ("read_file", {"path": "a\0b"}, "NUL character"),
        ("read_file", {"path": "\ud800"}, "half a character"),
        ("read_file", {"path": "../secret.txt"}, "holds '..'; write the path without it"),
        ("read_file", {"path": "src/../b.txt"}, "holds '..'"),
        ("read_file", {"path": "/etc/hosts"}, "'/etc/hosts' is outside your folder"),
        ("read_file", {"path": "//etc/hosts"}, "is outside your folder"),
        ("read_file", {"path": "link-to-file"}, "'link-to-file' is a symbolic link"),
        ("read_file", {"path": "link-in-folder"}, "is a symbolic link, and these are not followed"),
        ("read_file", {"path": "link-to-folder/secret.txt"}, "'link-to-folder' is a symbolic link"),
        ("read_file", {"path": "loop/x"}, "'loop' is a symbolic link"),
        ("read_file", {"path": "pipe"}, "a pipe, a device or a socket"),
        ("read_file", {"path": "socket"}, "a pipe, a device or a socket"),
        ("read_file", {"path": "raw"}, r"'raw' is no UTF-8 text \(byte 0\); use bash"),
        ("read_file", {"path": "b.txt", "offset": -1}, "offset is -1"),
        ("read_file", {"path": "b.txt", "limit": 0}, "limit 0"),
        ("list_dir", {"path": "b.txt"}, "a part of the path is a file"),
        ("list_dir", {"path": "link-up"}, "'link-up' is a symbolic link"),
        ("list_dir", {"path": "nope"}, "there is no such file"),
        ("list_dir", {"path": ".."}, "holds '..'"),
        ("write_file", {"path": "dangling", "content": ""}, "is a symbolic link"),
        ("write_file", {"path": "link-to-folder/x", "content": ""}, "is a symbolic link"),
        ("write_file", {"path": "src", "content": ""}, "is a folder"),
        ("write_file", {"path": "pipe", "content": ""}, "a pipe, a device or a socket"),
        ("write_file", {"path": "b.txt/x", "content": ""}, "a part of the path is a file"),
        ("write_file", {"path": "x", "content": "\ud800"}, "half a character"),
        ("write_file", {"path": "x", "content": "x" * 1_048_577}, "1048577 bytes, over 1048576"),
        ("edit_file", {"path": "b.txt", "old": "x", "new": "y"}, "does not hold old; read_file"),
        ("edit_file", {"path": "b.txt", "old": "l", "new": "y"}, "more than once; give more"),
        ("edit_file", {"path": "b.txt", "old": "", "new": "y"}, "nothing would change"),
        ("edit_file", {"path": "b.txt", "old": "h", "new": "h"}, "nothing would change"),
        ("edit_file", {"path": "raw", "old": "h", "new": "i"}, r"no UTF-8 text \(byte 0\)"),
        ("edit_file", {"path": "nope", "old": "h", "new": "i"}, "there is no such file"),
        ("edit_file", {"path": "link-in-folder", "old": "one", "new": "x"}, "is a symbolic link"),
    ],
)
def test_what_can_not_be_done_is_said_with_the_path_and_the_remedy(
    desk: Desk, tool: str, args: dict[str, object], said: str
) -> None:
    before, inside = desk.outside(), sorted(desk.folder.rglob("*"))
    with pytest.raises(ToolError, match=said):
        desk.call(tool, **args)
    assert (desk.outside(), sorted(desk.folder.rglob("*"))) == (before, inside)


def test_overlapping_places_are_two(desk: Desk) -> None:
    (desk.folder / "x").write_text("aaa")
    with pytest.raises(ToolError, match="more than once"):
        desk.call("edit_file", path="x", old="aa", new="b")


def test_a_file_that_is_too_large_is_not_edited(desk: Desk) -> None:
    (desk.folder / "big").write_text("x" * (files.MOST_BYTES - 1) + "y")
    assert desk.call("edit_file", path="big", old="y", new="z") == "edited big"
    (desk.folder / "big").write_text("x" * files.MOST_BYTES + "y")
    with pytest.raises(ToolError, match="'big' has more than 1048576 bytes; use bash"):
        desk.call("edit_file", path="big", old="y", new="z")


@pytest.mark.parametrize("name", ["null", "zero", "tty"])
def test_a_device_is_not_opened(name: str) -> None:
    made = read_file(Workspace(Path("/dev")))
    with pytest.raises(ToolError, match="a pipe, a device or a socket"):
        made.function(path=name)


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for tool in ("read_file", "list_dir"):
        with pytest.raises(ToolError, match="there is no such file"):
            desk.call(tool, path="x")


def test_a_fingerprint_is_that_of_the_files_bytes(desk: Desk) -> None:
    assert desk.fingerprint("read_file", path="b.txt") == (
        "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    )


@pytest.mark.parametrize("tool", ["read_file", "write_file", "edit_file"])
def test_a_fingerprint_tells_a_changed_file_and_a_missing_one(desk: Desk, tool: str) -> None:
    taken = [desk.fingerprint(tool, path="b.txt")]
    (desk.folder / "b.txt").write_text("hullo\n")
    taken.append(desk.fingerprint(tool, path="b.txt"))
    (desk.folder / "b.txt").unlink()
    taken.append(desk.fingerprint(tool, path="b.txt"))
    assert len(set(taken)) == 3
    assert taken[2] == "absent"


def test_what_would_be_made_on_the_way_is_absent_and_stays_so(desk: Desk) -> None:
    assert desk.fingerprint("write_file", path="x/y/z", content="") == "absent"
    assert not (desk.folder / "x").exists()


def test_the_fingerprint_of_a_folder_is_that_of_its_list(desk: Desk) -> None:
    before = desk.fingerprint("list_dir", path="src")
    (desk.folder / "src/a.txt").write_text("changed")
    assert desk.fingerprint("list_dir", path="src") == before
    (desk.folder / "src/new").touch()
    assert desk.fingerprint("list_dir", path="src") != before


@pytest.mark.parametrize("tool", ["read_file", "write_file", "edit_file", "list_dir"])
@pytest.mark.parametrize("path", ["link-to-file", "link-to-folder/secret.txt", "pipe", "../x"])
def test_where_there_is_no_fingerprint_it_says_why(desk: Desk, tool: str, path: str) -> None:
    with pytest.raises(ToolError, match=r"symbolic link|a pipe|holds|is a file"):
        desk.fingerprint(tool, path=path)


def test_what_is_too_large_has_no_fingerprint(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_HASHED", 5)
    with pytest.raises(ToolError, match="too large to be compared later"):
        desk.fingerprint("read_file", path="b.txt")


def test_reading_is_safe_to_repeat_and_so_is_writing_a_whole_file(desk: Desk) -> None:
    retried = {n: desk.tool(n).retry for n in ("read_file", "list_dir", "write_file", "edit_file")}
    assert retried == {
        "read_file": "safe",
        "list_dir": "safe",
        "write_file": "safe",
        "edit_file": "ask",
    }


def test_what_root_writes_belongs_to_the_owner_of_the_folder_or_of_the_file(desk: Desk) -> None:
    """Who is not root owns what they write, as always."""
    root = os.geteuid() == 0
    ours, theirs = (1234, 77) if root else (os.geteuid(), os.geteuid())
    os.chown(desk.folder, ours, -1)
    os.chown(desk.folder / "b.txt", theirs, -1)
    desk.call("write_file", path="x/y", content="")
    desk.call("edit_file", path="b.txt", old="hello", new="x")
    owners = [(desk.folder / each).stat().st_uid for each in ("x", "x/y", "b.txt")]
    assert owners == [ours, ours, theirs]

"""What no line may see or touch, whatever sandbox it runs in."""

import os
import socket
import tempfile
from pathlib import Path

import pytest

from placet.agents.workspace import ShellSettings, Workspace, sandbox_for
from placet.agents.workspace.sandbox import first_of
from placet.agents.workspace.shell import run_line
from placet.errors import SettingsError
from tests.integration.workspace.site import HIDDEN, Site, placets, site, sleeping, token

pytestmark = pytest.mark.integration


async def test_placets_environment_is_in_no_process_that_a_line_can_look_into(
    isolated: Site,
) -> None:
    secret = token()
    with sleeping(PLACET_KEY=secret) as placet:
        said = await isolated.says(f"cat /proc/{placet.pid}/environ; cat /proc/[0-9]*/environ")
        placet.kill()
    assert secret not in said
    assert "HOME=" in said  # its own is there: the line did look


async def test_no_process_of_placet_can_be_ended(isolated: Site) -> None:
    with sleeping() as placet:
        ran = await isolated.ran(f"kill -9 {placet.pid} {os.getpid()}")
        assert ran.code != 0
        assert placet.poll() is None
        placet.kill()


async def test_a_line_has_no_descriptor_but_its_three(any_site: Site) -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        # ls opens one itself, to look.
        assert (await any_site.says("ls /proc/self/fd")).split() == ["0", "1", "2", "3"]
    finally:
        os.close(read)
        os.close(write)


async def test_a_line_has_no_capability_and_no_way_to_gain_one(isolated: Site) -> None:
    said = await isolated.says("grep -E 'NoNewPrivs|CapEff|CapPrm|CapInh' /proc/self/status")
    assert sorted(said.split()[1::2]) == ["0" * 16] * 3 + ["1"]


READING = (
    "cat {own}",
    "ls {own}",
    "cp -r {own} copied && cat copied",
    "ln {own} linked && cat linked",
    "ln -s {own} linked; cat linked",
    "echo x >{own}",
    "echo x >>{own}",
    "mv {own} moved",
    "rm -rf {own}",
    "chmod -R 777 {own} && cat {own}",
    "unshare -Urm umount {own}; cat {own}",
    "unshare -Urm mount -o remount,bind,rw {own} && echo x >{own}",
    "cat /proc/1/root{own}",
    "mount --bind / /mnt && cat /mnt{own}",
)
REPLACING = (
    "rm -rf {home}/agents; mkdir -p {home}/agents; echo evil >{home}/agents/ops.py",
    "mv {home}/agents away; mkdir {home}/agents; echo evil >{home}/agents/ops.py",
    "mv {home}/agents/ops.py away; echo evil >{home}/agents/ops.py",
    "mv {home}/.placet away; mkdir -p {home}/.placet/data; echo evil >{home}/.placet/data/key",
    "rm {home}/placet.toml; echo evil >{home}/placet.toml",
    "echo evil >{home}/venv/lib/code.py",
    "mv {home}/venv away; mkdir -p {home}/venv/lib; echo evil >{home}/venv/lib/code.py",
    "mkdir x && mount --bind {home} x && echo evil >x/placet.toml",
)


async def test_nothing_of_placets_can_be_read_or_changed(guarded: Site) -> None:
    for own in guarded.own.private:
        before = contents(own)
        for line in (each.format(own=own) for each in READING):
            assert HIDDEN not in await guarded.says(line), line
            assert contents(own) == before, line


async def test_nothing_is_put_in_the_place_of_what_is_placets(guarded: Site) -> None:
    home = guarded.own.config.parent
    before = contents(home)
    for line in (each.format(home=home) for each in REPLACING):
        await guarded.says(line)
        assert {name: text for name, text in contents(home).items() if name in before} == before


async def test_no_mount_of_its_own_shows_a_line_what_lies_below_a_mount(surrounded: Site) -> None:
    attack = """
        mkdir /tmp/u /tmp/w /tmp/m
        mount -t overlay overlay -o lowerdir=$PWD,upperdir=/tmp/u,workdir=/tmp/w,userxattr /tmp/m
        mount --bind $PWD /tmp/m; mount --rbind $PWD /tmp/m; umount /tmp/m/.placet /tmp/m/placet.toml
        cat /tmp/m/placet.toml /tmp/m/.placet/data/key /tmp/m/agents/ops.py
    """
    assert HIDDEN not in await surrounded.says(f"unshare -Urm bash -c '{attack}'; {attack}")


async def test_what_is_missing_can_not_be_made_by_a_line(surrounded: Site) -> None:
    own = surrounded.own
    own.config.unlink()
    (own.data[0] / "data/key").unlink()
    (own.data[0] / "data").rmdir()
    own.data[0].rmdir()
    await surrounded.says("echo unsandboxed >placet.toml; mkdir -p .placet/data; touch .placet/x")
    assert "unsandboxed" not in own.config.read_text()
    assert list(own.data[0].iterdir()) == []


async def test_outside_the_folder_nothing_can_be_written(isolated: Site) -> None:
    name = token()
    places: list[str | Path] = [
        "/",
        "/etc",
        "/usr",
        "/usr/bin",
        "/var",
        "/home",
        "/root",
        "/proc/sys/kernel",
        "..",
    ]
    await isolated.says("".join(f"echo x >{place}/{name}; " for place in places))
    assert not [place for place in [*places, isolated.base] if (Path(place) / name).exists()]


async def test_the_switches_of_the_machine_can_not_be_turned(isolated: Site) -> None:
    switches = ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches")
    for switch in switches:
        assert (await isolated.ran(f"[ ! -w {switch} ]")).code == 0, switch


async def test_the_temporary_folder_and_the_processes_are_its_own(surrounded: Site) -> None:
    name = token()
    temporary = tempfile.gettempdir()
    ran = await surrounded.ran(f"cd {temporary} && echo x >{name} && ls -d {name} /proc/[0-9]*")
    assert ran.code == 0
    assert name not in os.listdir(temporary)
    assert len(ran.stdout.text.split()) < 10


async def test_a_socket_outside_the_folder_can_not_be_reached(surrounded: Site) -> None:
    path = surrounded.base / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        assert (await surrounded.ran(f"[ -e {path} ]")).code == 1


async def test_the_folder_can_be_worked_in(isolated: Site) -> None:
    said = await isolated.says(
        "pwd; mkdir a && cd a && echo hello >b && mv b c && cat c; ls /usr/bin"
    )
    assert said.startswith(f"{isolated.folder}\nhello\n")
    assert (isolated.folder / "a/c").read_text() == "hello\n"
    assert "bash" in said.split()


async def test_programs_find_users_names_and_certificates(isolated: Site) -> None:
    said = await isolated.says("getent passwd root; getent hosts localhost; ls /etc/ssl | head -1")
    assert "root:x:0:0" in said
    assert "localhost" in said


async def test_what_the_operator_names_is_readable_and_no_more(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "tool").write_text("here")
    (tmp_path / "beside").write_text("not here")
    folder = tmp_path / "work"
    folder.mkdir()
    shell = ShellSettings(readable=(tools,))
    workspace = Workspace(folder, shell, placets(tools))
    told = await run_line(
        workspace, f"cat {tools}/tool {tmp_path}/beside {tools}/placet.toml; echo >{tools}/x"
    )
    assert told["stdout"] == "here"
    assert not (tools / "x").exists()


def test_the_strongest_that_works_is_chosen_and_remembered(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "work", own=placets(tmp_path))
    workspace.folder.mkdir()
    sandbox = sandbox_for(workspace)
    assert (sandbox.name, sandbox.isolates, sandbox.safe_list) == ("bubblewrap", True, True)
    assert sandbox_for(workspace) is sandbox


def test_without_a_sandbox_the_safe_list_is_off(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, ShellSettings(unsandboxed=True), placets(tmp_path))
    sandbox = sandbox_for(workspace)
    assert (sandbox.name, sandbox.isolates, sandbox.safe_list) == ("none", False, False)


def test_another_user_is_refused_a_folder_that_holds_what_is_placets() -> None:
    refused = pytest.raises(SettingsError, match=r"Tried: another user: .*")
    with refused, site("another user", inside=True):
        pass


def test_another_user_who_can_read_what_is_placets_is_no_sandbox(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        workspace = Workspace(tmp_path, own=placets(tmp_path.parent / "home"))
        with pytest.raises(SettingsError, match="does not run as root"):
            first_of(workspace, ["another user"])
        return
    with site("another user") as made:
        made.own.config.chmod(0o644)
        with pytest.raises(SettingsError, match=r"placet\.toml is within reach; take the rights"):
            first_of(made.sandbox.workspace, ["another user"])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "placet.toml").symlink_to("/etc/hosts"), "placet.toml is a symbolic link"),
        (lambda f: (f / ".placet").symlink_to("/usr"), ".placet is a symbolic link"),
    ],
)
async def test_a_folder_that_can_not_be_sandboxed_runs_nothing_and_says_what_to_do(
    tmp_path: Path, spoil: object, said: str
) -> None:
    assert callable(spoil)
    spoil(tmp_path)
    own = Workspace(tmp_path).own
    here = type(own)(tmp_path / "placet.toml", (tmp_path / ".placet",))
    with pytest.raises(SettingsError, match=said):
        await run_line(Workspace(tmp_path, own=here), "touch ran")
    assert not (tmp_path / "ran").exists()


def test_the_whole_system_is_no_folder_to_work_in() -> None:
    with pytest.raises(SettingsError, match="holds the system"):
        sandbox_for(Workspace(Path("/")))


def contents(path: Path) -> dict[str, str]:
    """Every file of a path, with what is in it."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {str(each): each.read_text() for each in files}

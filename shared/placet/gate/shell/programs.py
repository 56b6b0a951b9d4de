"""What is known of programs by name: those that run whatever they are told have no name to grant."""

import re
from collections.abc import Sequence
from functools import lru_cache


def words(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())


SHELLS = words("""
    ash bash busybox cmd csh dash elvish fish ksh ksh93 mksh nu powershell pwsh rbash sh tcsh toybox
    xonsh yash zsh
""")
INTERPRETERS = words("""
    awk dc deno ed elixir emacs erl ex expect gawk gdb ghci groovy guile iex ipython irb java jshell
    julia lldb lua luajit m4 mawk nawk node nodejs osascript perl php pypy python r racket rscript
    ruby runghc sbcl scala swipl tclsh ts-node tsx wish
""")
EDITORS = words("less man info more most nano nvim pico top vi view vim vimdiff")
"""Editors and pagers: from each of them a program can be started."""
WRAPPERS = words("""
    ansible at batch builtin bunx bwrap chroot chrt command crontab direnv doas entr env exec
    firejail flock gtimeout hyperfine ionice ltrace mosh nice nix-shell nohup npx nsenter parallel pkexec pnpx
    runuser script setpriv setsid ssh stdbuf strace su sudo systemd-run taskset time timeout tmux
    unshare uvx valgrind watch xargs xcrun
""")
"""Programs that run what their arguments, or their input, say."""
WRAPPING = frozenset(
    f"{tool} {word}"
    for tool, subcommands in {
        "bun": "x",
        "bundle": "exec",
        "cargo": "run",
        "conda": "run",
        "docker": "exec run",
        "dotnet": "run",
        "go": "generate run tool",
        "hatch": "run",
        "kubectl": "debug exec run",
        "mise": "exec x",
        "nix": "develop run shell",
        "npm": "exec x",
        "opam": "exec",
        "pdm": "run",
        "pipenv": "run shell",
        "pipx": "run",
        "pnpm": "dlx exec",
        "podman": "exec run",
        "poetry": "run shell",
        "rustup": "run",
        "uv": "run tool",
        "yarn": "dlx exec node",
    }.items()
    for word in words(subcommands)
) | {f"docker {group} {word}" for group in ("compose", "container") for word in ("exec", "run")}
"""Subcommands that are wrappers."""

_KINDS = {
    **dict.fromkeys(SHELLS, "a shell"),
    **dict.fromkeys(INTERPRETERS, "an interpreter"),
    **dict.fromkeys(WRAPPERS, "a wrapper"),
    **dict.fromkeys(WRAPPING, "a wrapper"),
    **dict.fromkeys(EDITORS, "an editor or pager"),
}
SCRIPTED = ("a shell", "an interpreter")
"""What runs the file that is named by its first word."""

_LOADER = re.compile(r"ld(?:-linux.*|-musl.*|\d*)?\.so(?:\.\d+)*\Z")
_VERSION = re.compile(r"-?\d+(?:\.\d+)*(?:\.exe)?\Z|\.exe\Z")


@lru_cache(maxsize=1024)
def runs_anything(program: str, *following: str) -> str | None:
    """What a program is ("a shell") if it runs whatever it is told, with these plain words following it."""
    for name in known_as(program):
        told = (" ".join((name, *following[:count])) for count in range(len(following) + 1))
        if kind := next((_KINDS[each] for each in told if each in _KINDS), None):
            return kind
    return "a loader" if _LOADER.search(program.lower()) else None


def known_as(program: str) -> tuple[str, str]:
    """The names to look it up by: without folder, in lower case; and without a version too."""
    name = program.rpartition("/")[2].lower()
    return name, _VERSION.sub("", name)


def relative(words: Sequence[str]) -> bool:
    """Whether one of the words is a path that means another file after a `cd`."""
    paths = [word for word in words if "/" in word]
    if words[1:] and runs_anything(words[0]) in SCRIPTED:
        paths.append(words[1])
    return any(not path.startswith("/") for path in paths)

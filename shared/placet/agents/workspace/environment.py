"""The environment of a line: built from a list of what is allowed, never inherited."""

import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from placet.agents.workspace.folder import Workspace

TRUSTED_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

NEVER = (
    # What bash itself runs, reads by or splits words with.
    *("BASH*", "ENV", "SHELLOPTS", "POSIXLY_CORRECT", "IFS", "CDPATH", "PS4", "PROMPT_COMMAND"),
    *("GLOBIGNORE", "EXECIGNORE", "HISTFILE", "HOME", "TERM"),
    # What loads code into programs, or makes them start others.
    *("LD_*", "DYLD_*", "GCONV_PATH", "LOCPATH", "LESS*", "GIT_*", "*PAGER", "EDITOR", "VISUAL"),
    *("RIPGREP_CONFIG_PATH", "NODE_OPTIONS", "PYTHON*", "PERL5*", "PERLLIB", "RUBYOPT", "RUBYLIB"),
    *("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "GREP_OPTIONS"),
    # Placet's own: they hold keys and passwords.
    "PLACET_*",
)
"""Names that no line ever gets, even where an operator lists them."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLAIN_LOCALE = re.compile(r"^(C|POSIX)$|\.utf-?8$", re.IGNORECASE)


def shell_environment(
    workspace: Workspace, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What a line is given: fixed PATH, HOME, LANG and TERM, TZ, and what the operator listed.

    PATH is Placet's own only where it is listed, and then without relative folders and without any
    that lies in the agent's folder: what stands there is not the program that its name says.
    """
    given = os.environ if environ is None else environ
    passed = {name: given[name] for name in ("TZ", *workspace.shell.environment) if name in given}
    passed = {name: value for name, value in passed.items() if passes(name, value)}
    listed = passed.pop("PATH", None)
    return {
        "LANG": "C.UTF-8",
        **passed,
        "PATH": _trusted(listed, workspace.folder) if listed else TRUSTED_PATH,
        "HOME": str(workspace.folder),
        "TERM": "dumb",
    }


def passes(name: str, value: str) -> bool:
    """Whether a variable may be given to a line if it is listed."""
    folded = name.upper()
    if not _NAME.fullmatch(name) or any(fnmatchcase(folded, each) for each in NEVER):
        return False
    # In some older encodings a backslash or a quote is half of another character to bash.
    return not folded.startswith(("LANG", "LC_")) or bool(_PLAIN_LOCALE.search(value))


def _trusted(path: str, folder: Path) -> str:
    kept = [each for each in path.split(":") if each.startswith("/") and _outside(each, folder)]
    return ":".join(kept) or TRUSTED_PATH


def _outside(each: str, folder: Path) -> bool:
    return not Path(os.path.realpath(each)).is_relative_to(folder)

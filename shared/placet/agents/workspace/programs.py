"""The system's programs that a sandbox is made of."""

import shutil

from placet.agents.workspace.account import Account
from placet.agents.workspace.environment import TRUSTED_PATH

SHELL = ("/bin/bash", "--noprofile", "--norc", "-c")
NO_PRIVILEGES = ("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")


class Unfit(Exception):
    """One way to make a sandbox does not work on this machine; the message says why, in a few words."""


def program(name: str, package: str) -> str:
    """The path of a program, in the trusted folders only. Raises Unfit."""
    found = shutil.which(name, path=TRUSTED_PATH)
    if found is None:
        raise Unfit(f"{name} is not installed (package {package})")
    return found


def without_privileges(account: Account | None = None) -> list[str]:
    """What starts a program without capabilities and without a way to gain any, as this account if given.

    Supplementary groups go too: one of them may own a socket, such as Docker's.
    """
    start = [program("setpriv", "util-linux"), *NO_PRIVILEGES]
    if account is None:
        return start
    return [*start, "--reuid", str(account.uid), "--regid", str(account.gid), "--clear-groups"]

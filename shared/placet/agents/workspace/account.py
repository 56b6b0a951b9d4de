"""Which account lines run as."""

import os
import pwd
from dataclasses import dataclass

from placet.agents.workspace.folder import Workspace
from placet.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Account:
    """A user and its group, by number."""

    uid: int
    gid: int

    @property
    def is_ours(self) -> bool:
        """Whether Placet runs as this user."""
        return self.uid == os.geteuid()


def account_of(workspace: Workspace) -> Account:
    """Who a workspace's lines run as.

    That is `[shell] user`; else, where Placet is root, the folder's owner, since root without its
    capabilities can't write what belongs to another; else Placet's own user.

    Raises:
        SettingsError: no such account, or no such folder.
    """
    user = workspace.shell.user
    try:
        if user is not None:
            found = pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
            return Account(found.pw_uid, found.pw_gid)
        if os.geteuid() == 0:
            owned = workspace.folder.stat()
            return Account(owned.st_uid, owned.st_gid)
    except (KeyError, OverflowError):
        raise SettingsError(f"[shell] user is {user!r}; there is no such account here") from None
    except OSError as error:
        raise SettingsError(f"the agent's folder {workspace.folder}: {error.strerror}") from None
    return Account(os.geteuid(), os.getegid())

"""What the system refuses, said so that a model can put it right."""

import errno
import os

from placet.errors import ToolError

_SAID = {
    errno.ENOENT: "there is no such file; list_dir shows what there is",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EISDIR: "it is a folder; list_dir shows what is in it",
    errno.ELOOP: "a part of it is a symbolic link, and these are not followed",
    errno.EACCES: "Placet's user may not do that; its owner has to allow it",
    errno.EPERM: "Placet's user may not do that; its owner has to allow it",
    errno.EROFS: "it can't be written here: the file system is read-only",
    errno.ENOSPC: "there is no room left; nothing was changed",
    errno.EDQUOT: "there is no room left; nothing was changed",
    errno.ENAMETOOLONG: "a name in it is too long; use at most 255 bytes for each",
}


class Missing(ToolError):
    """A folder on the way to a file is not there."""


def said_of(error: OSError, path: str) -> str:
    """The path, what is wrong with it, and what helps."""
    what = _SAID.get(error.errno or 0) or os.strerror(error.errno or 0)
    return f"{path!r}: {what}"

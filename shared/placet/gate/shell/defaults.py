"""The read-only programs that Placet ships as safe.

One rule holds for each of them: under no arguments can it write a file, start another program or
open a connection. That is why `sort`, `find`, `diff` and `git` are missing. It is checked for GNU
coreutils, grep, util-linux and jq; on a system with others under these names, turn the list off.
"""

from placet.gate.shell.programs import words

DEFAULTS: tuple[str, ...] = tuple(
    sorted(
        words("""
            basename cat cd cksum cmp comm cut df dirname du echo expand false fold grep groups head
            hexdump id join jq ls md5sum nl nproc od paste pwd readlink realpath rev seq sha1sum
            sha256sum sha512sum stat tail tr true type uname unexpand wc which whoami
        """)
    )
)
"""Names only: a program is covered with any arguments."""

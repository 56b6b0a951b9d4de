"""Why a program is not on the shipped list, for a person who adds it by name."""

from placet.gate.shell.programs import known_as, words

_DANGERS = {
    name: why
    for why, names in {
        "can write files": """
            base32 base64 csplit dd install shuf split tac tee touch tree truncate uniq xxd yq""",
        "changes files": "chmod chown cp ln mkdir mv rm rmdir",
        "can write files and start other programs": """
            7z fd fdfind find gunzip gzip rsync sdiff sed sort tar unzip xz zip zstd""",
        "can start other programs": """
            ack ag bat colordiff diff file ldd locale lsblk ps psql rg sqlite3 ugrep""",
        "starts another program": "egrep fgrep zgrep zcat",
        "can open connections": """
            curl dig getent host ip last lsof nc ncat netstat nslookup ping pinky scp sftp ss w wget
            who""",
        "can load code or open connections": "nm objdump readelf strings",
        "evaluates its arguments, quoted ones too": "printf test",
        "can change the machine's clock or name": "date hostname",
        "ends other processes": "kill killall pkill",
        "prints every secret of the environment": "printenv",
    }.items()
    for name in words(names)
}


def danger(program: str) -> str | None:
    """What a program can do that no read-only one may, or `None` where nothing is known."""
    return next((_DANGERS[name] for name in known_as(program) if name in _DANGERS), None)

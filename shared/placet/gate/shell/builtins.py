"""Words that mean something to bash itself where a program may stand."""

from placet.gate.shell.programs import words

RESERVED = words("""
    ! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while
""")
"""Words of the grammar."""

SHELL_STATE = words("""
    . alias bg bind break caller compgen complete compopt continue declare dirs disown enable eval
    export fc fg getopts hash history jobs let local logout mapfile popd pushd read readarray
    readonly return set shift shopt source suspend times trap typeset ulimit umask unalias unset
    wait
""")
"""Builtins that run text in this very shell, or change what the rest of the line means in it.

Some of them change how bash reads their own arguments too, so a line with one is never read.
"""

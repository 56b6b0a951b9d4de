"""The agent loop as a pure state machine: `fold` the journal, `decide` what is next."""

from placet.kernel.decide import Act, CallModel, Ended, Fail, Finish, Judge, Next, Wait, decide
from placet.kernel.journal import Entry, read_entry, write_entry
from placet.kernel.state import State, fold

__all__ = [
    "Act",
    "CallModel",
    "Ended",
    "Entry",
    "Fail",
    "Finish",
    "Judge",
    "Next",
    "State",
    "Wait",
    "decide",
    "fold",
    "read_entry",
    "write_entry",
]

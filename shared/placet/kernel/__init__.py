"""The agent loop as a pure state machine: `fold` the journal, `decide` what is next."""

from placet.kernel.decide import decide
from placet.kernel.journal import Entry, read_entry, write_entry
from placet.kernel.staging import Present
from placet.kernel.state import State, fold
from placet.kernel.steps import (
    Act,
    CallModel,
    Cancel,
    Ended,
    Fail,
    Finish,
    Judge,
    Next,
    Record,
    Wait,
)

__all__ = [
    "Act",
    "CallModel",
    "Cancel",
    "Ended",
    "Entry",
    "Fail",
    "Finish",
    "Judge",
    "Next",
    "Present",
    "Record",
    "State",
    "Wait",
    "decide",
    "fold",
    "read_entry",
    "write_entry",
]

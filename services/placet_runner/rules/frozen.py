"""A run that waits for a freeze to be lifted."""

from collections.abc import Iterable, Sequence

from placet.domain.freeze import Freeze
from placet.gate.freezing import covers
from placet.ids import derived_id
from placet.kernel.call import CallState
from placet_runner.rules.runs import FROZEN, Document


def frozen_entry(run_id: str, freeze: Freeze) -> Document:
    """A freeze as the run keeps it while calls of its wait for it; the same one once."""
    return {
        "id": derived_id("frz", run_id, freeze.id),
        "kind": FROZEN,
        "call": "",
        "freeze": freeze.id,
        "request": freeze.model_dump(mode="json"),
        "resolution": None,
        "closing": None,
    }


def is_freeze(entry: Document) -> bool:
    """Whether this is a freeze that is waited for, neither a question nor a run."""
    return bool(entry["kind"] == FROZEN)


def freeze_of(entry: Document) -> Freeze:
    """The freeze as it was when calls began to wait for it."""
    return Freeze.model_validate(entry["request"])


def covering(freezes: Iterable[Freeze], run: Document, tool: str) -> list[Freeze]:
    """Those of the freezes that cover a call of this tool in this run."""
    agents = {run["agent_id"], run["agent"], *run["path"], run.get("root_agent_id", "")}
    return [each for each in freezes if covers(each, run["namespace"], agents, tool)]


def halted(
    waiting: Iterable[Document], run: Document, calls: Iterable[CallState]
) -> list[CallState]:
    """The calls without a result that the freezes which are waited for cover."""
    freezes = [freeze_of(entry) for entry in waiting if is_freeze(entry)]
    return [c for c in calls if c.result is None and covering(freezes, run, c.call.tool)]


def open_freezes(waiting: Sequence[Document]) -> list[Document]:
    """The freezes among what is waited for that are not known to be lifted."""
    return [e for e in waiting if is_freeze(e) and e["resolution"] is None]

"""The builtin `delegate`: a call that child runs do, and what those are made from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from pydantic import ConfigDict, Field, create_model

from placet.agents.situation import situation
from placet.agents.tool import Tool
from placet.domain.heritage import Birth, Heritage
from placet.domain.run import Message
from placet.errors import ToolError
from placet.gate import Role
from placet.ids import derived_id
from placet.kernel.asking import Asker
from placet.kernel.call import CallState
from placet.kernel.journal import Delegated, Delegation
from placet.kernel.state import State

if TYPE_CHECKING:
    from placet.agents.agent import Agent

DELEGATE = "delegate"
MOST_TASKS = 8
"""Child runs of one call."""
MOST_CHILDREN = 16
"""Child runs that one run waits for at once: what they are made from is in its document."""
LONGEST_TASK = 16_384
DEEPEST = 5
"""How many runs may stand below a root, one below the other."""


def delegate_to(names: Sequence[str]) -> Tool:
    """The tool, for a definition that may start runs of these definitions."""
    strict = ConfigDict(extra="forbid")
    choice: Any = Literal[tuple(names)]
    task = create_model(
        "Task",
        __config__=strict,
        agent=(choice, ...),
        message=(str, Field(min_length=1, max_length=LONGEST_TASK)),
    )
    tasks: Any = (list[task], Field(min_length=1, max_length=MOST_TASKS))
    return Tool(
        name=DELEGATE,
        description=(
            "Have other agents do tasks, all at once. Returns what each of them said last, in the "
            "order of the tasks."
        ),
        function=_not_called,
        role=Role.DELEGATES,
        retry="safe",
        parameters=create_model("delegate_arguments", __config__=strict, tasks=tasks),
    )


def delegated(asker: Asker, call: CallState, busy: int) -> Delegated:
    """The journal's entry for a call that is being done by child runs; `busy`: how many there are.

    Raises:
        ToolError: the run is as deep in its tree as runs may be, or has as many children.
    """
    if len(asker.path) > DEEPEST:
        raise ToolError(f"this run is {DEEPEST} deep already and can't delegate; do it here")
    if busy + len(call.call.args["tasks"]) > MOST_CHILDREN:
        raise ToolError(f"a run delegates at most {MOST_CHILDREN} tasks at once; do these later")
    return Delegated(
        call_id=call.call.id,
        children=tuple(
            Delegation(
                run_id=derived_id("run", asker.namespace, asker.run_id, call.call.id, str(number)),
                agent=task["agent"],
                message=task["message"],
            )
            for number, task in enumerate(call.call.args["tasks"])
        ),
    )


def busy_children(state: State) -> int:
    """How many runs the open calls were delegated to."""
    return sum(len(call.children) for call in state.calls.values())


def births(agent: "Agent", asker: Asker, state: State, entry: Delegated) -> list[Birth]:
    """What each child run is made from: the same, whenever it is asked for."""
    heritage = below(agent, state)
    return [
        Birth(
            agent=child.agent,
            agent_id=child.run_id.replace("run_", "agt_", 1),
            messages=(
                Message(
                    id=derived_id("msg", child.run_id), text=child.message, sender=asker.initiator
                ),
            ),
            initiator=asker.initiator,
            parent_run_id=asker.run_id,
            call_id=entry.call_id,
            root_run_id=asker.root_run_id or asker.run_id,
            root_agent_id=asker.root_agent_id or asker.agent_id,
            path=(*(asker.path or (asker.agent,)), child.agent),
            heritage=heritage,
        )
        for child in entry.children
    ]


def spoke_in(state: State) -> tuple[str, ...]:
    """Everybody who told a run something, or had told the runs above it, each once."""
    every = (*state.heritage.spoke, *state.spoke)
    return tuple(dict.fromkeys(each for each in every if each is not None))


def below(agent: "Agent", state: State) -> Heritage:
    """What a run below this one can't choose for itself."""
    consent = agent.human_input.rules
    own = situation(agent, state).policy.bound.model_copy(update={"consent": consent})
    return Heritage(
        unattended=state.heritage.unattended,
        bounds=(*state.heritage.bounds, own),
        refused=state.refusals.kept(),
        taint=state.taint,
        spoke=spoke_in(state),
    )


async def _not_called(**_: Any) -> NoReturn:
    msg = "child runs do what is delegated"
    raise AssertionError(msg)

"""An agent as one run has it now: in its stage, with somebody there or not, below other runs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from placet.agents.models import Model, ToolSchema
from placet.agents.providers import resolve_model
from placet.agents.staging import layer_of
from placet.agents.tool import Tool
from placet.domain.heritage import Heritage
from placet.domain.stage import Stage
from placet.gate import Decision, Layer, Policy, Role
from placet.gate.names import same_tool
from placet.kernel.decide import decide
from placet.kernel.journal import RunStarted
from placet.kernel.state import State
from placet.kernel.steps import Next, ToolFacts

if TYPE_CHECKING:
    from placet.agents.agent import Agent


@dataclass(frozen=True)
class Situation:
    """What is offered and what the gate goes by. The same for the same stage and heritage."""

    agent: "Agent"
    stage: Stage
    heritage: Heritage
    known: frozenset[str] | None = None
    """The tools that the run started with; None: those that there are."""

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that the stage offers, by name.

        While nobody is there, those that ask a person are not offered, unless the stage requires them.
        """
        listed = self.stage.available_tools
        offered = None if listed is None else {same_tool(name) for name in listed}
        return {
            name: tool
            for name, tool in self.agent.toolbox.items()
            if (self.known is None or name in self.known)
            and (offered is None or same_tool(name) in offered)
            and (tool.role is not Role.ASKS or self.asks_people(name))
        }

    @cached_property
    def policy(self) -> Policy:
        """What the gate goes by."""
        approval, bounds = self.heritage.unattended, self.heritage.bounds
        return replace(
            self.agent.policy,
            taint=self.agent.policy.taint or any(bound.taint for bound in bounds),
            stage=layer_of(self.stage),
            ancestors=tuple(map(Layer.above, bounds)),
            unattended=Decision(approval) if approval else None,
            consent=(*self.heritage.consent, *self.agent.policy.consent),
        )

    @cached_property
    def facts(self) -> Mapping[str, ToolFacts]:
        """What the kernel needs to know of each tool that exists, offered now or not."""
        return {
            name: replace(
                tool.facts,
                denied_by=self.policy.denied_by(same_tool(name)),
                consent=self.policy.consent,
            )
            for name, tool in self.agent.toolbox.items()
        }

    @cached_property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as the model sees them."""
        return tuple(ToolSchema(t.name, t.description, t.schema) for t in self.tools.values())

    @cached_property
    def model(self) -> Model:
        """Who answers in this stage."""
        named = self.stage.model
        return self.agent.resolved_model if named is None else resolve_model(named)

    def asks_people(self, tool: str) -> bool:
        """Whether what a tool itself asks is put to a person.

        While nobody is there, it is not, unless the stage requires the tool.
        """
        if self.heritage.unattended is None:
            return True
        return same_tool(tool) in map(same_tool, self.stage.required_tools)


def situation(agent: "Agent", state: State) -> Situation:
    """The agent as this run has it now."""
    began = state.started.tools if state.started else {}
    # A run goes on with the tools that it started with: what a deploy adds is for the runs after it.
    same = not began or began.keys() == agent.toolbox.keys()
    return agent.situation(state.stage.name, state.heritage, None if same else frozenset(began))


def started(agent: "Agent", heritage: Heritage) -> RunStarted:
    """What a run of this agent goes on with, whatever is deployed later."""
    return RunStarted(
        instructions=agent.instructions,
        stage_instructions={stage.name: stage.instructions for stage in agent.stages},
        tools={name: tool.facts.schema_digest for name, tool in agent.toolbox.items()},
        stage=agent.first_stage,
        heritage=heritage,
    )


def next_move(agent: "Agent", state: State, running: Collection[str] = ()) -> Next:
    """What the run does next; `running`: ids of the calls that were started here and go on."""
    return decide(
        state,
        situation(agent, state).facts,
        stages=agent.stages,
        running=running,
        max_steps=agent.max_steps,
    )

"""An agent: instructions, a model, tools, and what needs a person. It does not know its runtime."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placet.agents.builtins import BUILTINS, builtin
from placet.agents.delegating import delegate_to
from placet.agents.handlers import Approver, InteractionHandler
from placet.agents.human_input import HumanInput
from placet.agents.interventions import Classifier, HumanInTheLoop
from placet.agents.models import Model
from placet.agents.operator import Operator
from placet.agents.policies import SourceRule, policy_of
from placet.agents.providers import resolve_model
from placet.agents.situation import Situation
from placet.agents.staging import checked_stages
from placet.agents.tool import Tool
from placet.agents.workspace import Workspace
from placet.domain.heritage import Heritage, UnattendedApproval
from placet.domain.interaction import Accepts
from placet.domain.risk import ToolRisk
from placet.domain.stage import Stage
from placet.errors import DefinitionError
from placet.gate import Policy
from placet.gate.names import NAME, look_alikes

if TYPE_CHECKING:
    from placet.agents.inprocess import RunResult

_SITUATIONS = 256
"""How many are remembered: a definition has a few, unless it runs below many others."""


@dataclass(eq=False)
class Agent:
    """One definition, from Python.

    Args:
        name: how it is addressed.
        instructions: what the model is told first.
        model: `provider:name`, such as `openai:gpt-5`, or anything with a `reply`.
        tools: made by the `tool` decorator.
        approval_required_risk: calls at this tier and above need a person; `high` unless the
            operator says otherwise.
        builtins: names of builtin tools to offer, such as `ask_user_text` or `bash`.
        folder: where `bash` and the file tools work; the current folder otherwise.
        human_input: who may answer, and for how long a question stands.
        max_steps: model calls allowed in one run.
        approval_handler: who decides in process, unless a run brings its own.
        tool_permissions: `allow`, `ask` or `deny` by tool.
        allowed_tools: names that run unasked; `*` for all that are loaded, `!name` for never. What
            is not listed asks.
        sources: rules for tools by their source: a policy word, or `{"policy": ..., "tools": {...}}`.
        classifier: judges what nothing else decides; see `HumanInTheLoop`.
        edits: whether the approver may change the arguments of a call.
        taint: hold back outbound calls that would carry data above their clearance.
        interventions: at most one `HumanInTheLoop`.
        safe_commands: `{"shell": [...], "tools": [...]}` that the operator may let count.
        stages: named phases in their order; without any, there is `main` alone.
        delegates: definitions that `delegate` may start as child runs, as agents or by name; the tool
            is offered where there are any.

    Raises:
        DefinitionError: two tools of one name, an unknown builtin, tier, model or policy word, or a
            rule that names no tool.
    """

    name: str
    instructions: str = ""
    model: str | Model = ""
    tools: Sequence[Tool] = ()
    approval_required_risk: ToolRisk | None = None
    builtins: Sequence[str] = ()
    human_input: HumanInput = field(default_factory=HumanInput)
    max_steps: int = 50
    approval_handler: Approver | None = None
    interaction_handler: InteractionHandler | None = None
    folder: Path | str = "."
    tool_permissions: Mapping[str, str] = field(default_factory=dict)
    allowed_tools: Sequence[str] | None = None
    sources: Mapping[str, SourceRule] = field(default_factory=dict)
    classifier: Classifier = None
    interventions: Sequence[HumanInTheLoop] = ()
    edits: bool = False
    taint: bool = False
    safe_commands: Mapping[str, Sequence[str]] = field(default_factory=dict)
    stages: Sequence[Stage] = ()
    delegates: Sequence["Agent | str"] = ()
    operator: Operator = field(default_factory=Operator, kw_only=True)
    """What the operator says; a runner sets it for every agent that it loads."""
    trusted: dict[str | None, dict[str, str]] = field(
        default_factory=dict, init=False, repr=False, kw_only=True
    )
    """What each user's runs in this process trust: tools, each with the digest of its schema then."""
    workspace: Workspace = field(init=False, repr=False)
    _situations: dict[Any, Situation] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if (
            not self.name
            or len(self.name) > 100
            or not self.name.replace("-", "").replace("_", "").isalnum()
        ):
            raise DefinitionError(
                f"agent name {self.name!r}: use letters, digits, - and _, at most 100"
            )
        if self.name.startswith("agt_"):
            raise DefinitionError(f"agent name {self.name!r}: agt_ is for ids")
        try:
            if self.approval_required_risk is not None:
                self.approval_required_risk = ToolRisk(self.approval_required_risk)
        except ValueError:
            words = ", ".join(ToolRisk)
            raise DefinitionError(
                f"agent {self.name}: approval_required_risk is none of {words}"
            ) from None
        self.workspace = Workspace(Path(self.folder), self.operator.shell)
        _ = self.toolbox, self.resolved_model, self.policy
        self._check_people()
        self.stages = checked_stages(self)

    def _check_people(self) -> None:
        """Whether what it says of people goes with the rest. Raises DefinitionError."""
        try:
            self.human_input.check_tools(self.toolbox)
        except DefinitionError as error:
            raise DefinitionError(f"agent {self.name}: {error}") from error
        if self.accepts == "anything" and self.human_input.is_strict:
            raise DefinitionError(
                f"agent {self.name}: an evaluator of its own decides what a yes is, so nobody can count "
                "to a quorum; leave out the evaluator, or quorum and exclude_initiator"
            )

    def under(self, operator: Operator) -> "Agent":
        """This definition as the operator bounds it. Raises DefinitionError."""
        return replace(self, operator=operator)

    def work_in(self, workspace: Workspace) -> None:
        """Use this folder and these settings of the shell from now on; for whoever runs the agent."""
        self.workspace = workspace
        self.__dict__.pop("toolbox", None)  # its tools were made for the workspace of before
        self._situations.clear()

    @cached_property
    def toolbox(self) -> Mapping[str, Tool]:
        """Every tool by its name."""
        unknown = [name for name in self.builtins if name not in BUILTINS]
        if unknown:
            raise DefinitionError(
                f"agent {self.name}: no builtin {unknown[0]!r}, only {', '.join(BUILTINS)}"
            )
        built = [builtin(name, self.workspace) for name in self.builtins]
        if self.delegates:
            built.append(delegate_to(self.delegate_names))
        return _by_name(self.name, [*self.tools, *built])

    @cached_property
    def resolved_model(self) -> Model:
        """The model itself; a provider's library is imported at its first use."""
        return resolve_model(self.model)

    def situation(
        self, stage: str, heritage: Heritage, known: frozenset[str] | None = None
    ) -> Situation:
        """This definition as a run has it in a stage, with somebody there or not, below other runs.

        `known`: the tools that it started with, if there are others by now.
        """
        key = (stage, heritage.unattended, heritage.bounds, known)
        found = self._situations.get(key)
        if found is None:
            if len(self._situations) >= _SITUATIONS:
                self._situations.clear()
            declared = next((each for each in self.stages if each.name == stage), Stage(name=stage))
            found = self._situations[key] = Situation(self, declared, heritage, known)
        return found

    @property
    def delegate_names(self) -> list[str]:
        """The definitions that it may delegate to."""
        return [each.name if isinstance(each, Agent) else each for each in self.delegates]

    @property
    def first_stage(self) -> str:
        """Where a run begins."""
        return self.stages[0].name if self.stages else "main"

    @property
    def patience(self) -> timedelta | None:
        """How long a question stands; None: until it is answered."""
        own, most = self.human_input.expires_in_seconds, self.operator.patience
        return timedelta(seconds=own) if own is not None else most

    @cached_property
    def policy(self) -> Policy:
        """What the gate goes by. Raises DefinitionError."""
        return policy_of(self)

    @property
    def human_in_the_loop(self) -> HumanInTheLoop | None:
        """The intervention, if there is one."""
        return self.interventions[0] if self.interventions else None

    @property
    def accepts(self) -> Accepts:
        """What an approval may be answered with."""
        intervention = self.human_in_the_loop
        if intervention is None:
            return "decision"
        own_trust = intervention.enable_trust and intervention.evaluate_trust
        return "anything" if intervention.evaluate or own_trust else "words"

    @property
    def editable_schemas(self) -> Mapping[str, dict[str, Any]]:
        """By tool: what arguments that a person changes must satisfy; empty if nobody may."""
        return {name: tool.schema for name, tool in self.toolbox.items()} if self.edits else {}

    @property
    def judge(self) -> Classifier:
        """The classifier in force; None where there is none."""
        intervention = self.human_in_the_loop
        said = (self.classifier, intervention.classifier if intervention else None)
        return next((each for each in said if each is not None and each is not False), None)

    async def run(
        self,
        message: str,
        *,
        approval_handler: Approver | None = None,
        interaction_handler: InteractionHandler | None = None,
        user: str | None = None,
        unattended: UnattendedApproval | None = None,
    ) -> "RunResult":
        """Run in this process: people are asked in place, by the handlers.

        Without an approval handler calls that need a person are denied; without an interaction
        handler other questions are cancelled. What a handler raises ends the run and no tool runs.
        `unattended` says that nobody is there, and what becomes of calls that would ask; for child
        runs too.
        """
        from placet.agents.inprocess import run_in_process  # noqa: PLC0415 - it imports this module

        return await run_in_process(
            self,
            message,
            approver=self.approval_handler if approval_handler is None else approval_handler,
            asker=self.interaction_handler if interaction_handler is None else interaction_handler,
            user=user,
            unattended=unattended,
        )

    def delegate_named(self, name: str) -> "Agent":
        """The definition that a task is for, under the same operator.

        Raises DefinitionError where only its name was given.
        """
        for each in self.delegates:
            if isinstance(each, Agent) and each.name == name:
                return each if each.operator == self.operator else each.under(self.operator)
        raise DefinitionError(
            f"agent {self.name}: delegates names {name!r}; in this process give the agent itself"
        )


def _by_name(agent: str, tools: Iterable[Tool]) -> Mapping[str, Tool]:
    named: dict[str, Tool] = {}
    for each in tools:
        if not isinstance(each, Tool):
            raise DefinitionError(f"agent {agent}: {each!r} is no tool; decorate it with @tool")
        if not NAME.match(each.name):
            raise DefinitionError(
                f"agent {agent}: the name of the tool {each.name!r} is not made of letters, digits and "
                "_ . : / @ -, at most 200"
            )
        if each.name in named:
            raise DefinitionError(f"agent {agent}: two tools are called {each.name!r}")
        named[each.name] = each
    if alike := look_alikes(named):
        raise DefinitionError(f"agent {agent}: {alike[0]!r} and {alike[1]!r} can't be told apart")
    return named

"""`placet approvals`: what may run without a person, and why a line asks."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
from cyclopts import App, Parameter

from placet.agents.loading import load_agents
from placet.agents.operator import Operator, read_operator
from placet.agents.policies import policy_for
from placet.cli.exits import Exit
from placet.cli.output import notes, out, print_json, safe
from placet.cli.runs import Json
from placet.cli.tables import Column, print_table
from placet.domain.grant import Grant
from placet.errors import Invalid, NotFound
from placet.gate import Facts, Policy, Role, Standing, gate
from placet.gate.names import SHELL
from placet.gate.shell import SHIPPED, Layer, SafeList, Source, grants
from placet.process.settings import config_file

COLUMNS = (Column("ENTRY"), Column("FROM"), Column("FILE", 8))

approvals = App(name="approvals", help="What runs without a person, and why something asks.")

Agent = Annotated[str | None, Parameter(help="As this definition of PLACET_AGENTS is gated.")]


@approvals.command(name="safe")
def safe_(*, agent: Agent = None, json: Json = False) -> int:
    """List what is on the safe list, and which file put it there."""
    policy = _policy(agent)
    for caution in policy.safe.cautions:
        notes.print(f"[yellow]{safe(caution.text)}[/]: {safe(caution.sentence)}")
    rows = policy.safe.effective()
    if json:
        print_json([{"key": r.key, "source": r.source, "file": r.file} for r in rows])
        return Exit.OK
    print_table(COLUMNS, [(safe(r.key), r.source.value, safe(r.file)) for r in rows])
    return Exit.OK


@approvals.command
def explain(
    line: Annotated[str | None, Parameter(help="A shell line.")] = None,
    *,
    agent: Agent = None,
    safe: Annotated[tuple[str, ...], Parameter(help="Count this entry as safe too.")] = (),
    no_defaults: Annotated[
        bool, Parameter(negative=(), help="Without the list that is shipped.")
    ] = False,
    granted: Annotated[tuple[str, ...], Parameter(help="Count this key as granted.")] = (),
    batch: Annotated[
        Path | None,
        Parameter(help='JSON lines of {"line", "safe", "granted"}; one result a line.'),
    ] = None,
    json: Json = False,
) -> int:
    """Say whether a shell line would run without a person, why, and what a prompt could grant."""
    if (line is None) == (batch is None):
        raise Invalid("give one LINE, or --batch FILE")
    if batch is not None:
        for result in _batch(batch):
            print_json(result)
        return Exit.OK
    policy = _policy(agent)
    layers = [Layer(Source.CONFIG, safe, file="--safe")]
    held = _listed(policy.safe, without_defaults=no_defaults)
    added = SafeList.of(layers)
    policy = replace(policy, safe=replace(held, shell={**held.shell, **added.shell}))
    result = explained(line or "", policy, granted)
    if json:
        print_json(result)
    else:
        _print(result)
    return Exit.OK


def explained(line: str, policy: Policy, granted: Sequence[str] = ()) -> dict[str, Any]:
    """The gate's word on one shell line; `grants` are the keys that a prompt could name, or null."""
    facts = Facts(tool=SHELL, role=Role.SHELL, line=line)
    given = Grant(
        id="explained", tool=SHELL, keys=tuple(granted), scope="run", at=_NEVER, input_id=""
    )
    verdict = gate(facts, policy, Standing((given,) if granted else ()))
    assert verdict is not None  # noqa: S101 - without a classifier nothing is left open
    keys = grants(line)
    return {
        "decision": verdict.decision.value,
        "reason": verdict.reason.model_dump(),
        "grants": None if keys is None else list(keys),
    }


_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def _batch(path: Path) -> Iterator[dict[str, Any]]:
    try:
        texts = path.read_text().splitlines()
    except (OSError, ValueError) as error:
        raise Invalid(f"{path} can't be read: {error}") from error
    for number, text in enumerate(texts, 1):
        if text.strip():
            yield _case(f"{path}:{number}", text)


def _case(where: str, text: str) -> dict[str, Any]:
    try:
        case = orjson.loads(text)
        line, listed, granted = case["line"], case.get("safe", ()), case.get("granted", ())
        entries = tuple(entry for entry in listed if entry != "defaults")
        layers = [SHIPPED] if "defaults" in listed else []
        policy = Policy(safe=SafeList.of([*layers, Layer(Source.CONFIG, entries, file=where)]))
        return explained(line, policy, tuple(granted))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Invalid(
            f'{where}: wanted {{"line": ..., "safe": [...], "granted": [...]}}'
        ) from error


def _policy(agent: str | None) -> Policy:
    operator: Operator = read_operator(config_file())
    if agent is None:
        return policy_for(operator)
    words = os.environ.get("PLACET_AGENTS", "placet.agents.ops").split(",")
    loaded = load_agents((word.strip() for word in words if word.strip()), operator)
    found = loaded.agents.get(agent)
    if found is None:
        known = ", ".join(sorted(loaded.agents)) or "none"
        raise NotFound(f"no agent {agent!r}; PLACET_AGENTS has {known}")
    return found.policy


def _listed(listed: SafeList, *, without_defaults: bool) -> SafeList:
    if not without_defaults:
        return listed
    kept = {k: e for k, e in listed.shell.items() if e.source is not Source.DEFAULT}
    return replace(listed, shell=kept)


def _print(result: dict[str, Any]) -> None:
    colour = {"allow": "green", "ask": "yellow", "deny": "red"}[result["decision"]]
    reason = result["reason"]
    out.print(
        f"[{colour}]{result['decision']}[/]  {safe(reason['sentence'])}  [dim]({reason['code']})[/]"
    )
    keys = result["grants"]
    named = ", ".join(safe(f"`{key}`") for key in keys) if keys else "nothing: it asks each time"
    out.print(f"a prompt could grant {named}")

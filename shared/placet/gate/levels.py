"""The six levels: the first signal that speaks decides, and a deny of any layer always wins."""

import re

from placet.domain.risk import ToolRisk
from placet.gate.facts import Facts, Role
from placet.gate.policy import Policy, SourcePolicy
from placet.gate.shell import Opaque, read
from placet.gate.verdict import Decision, Level, Verdict, said

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
WRITE = "write_file"

_HARMLESS = re.compile(r"[0-9]?(?:>&[0-9-]|&?>>?[ \t]*/dev/null)(?=[\s;|&<>()]|\Z)")


def judge(facts: Facts, policy: Policy) -> Verdict | None:
    """The verdict before anything that was allowed earlier counts; None while the classifier is needed."""
    writes = _writes(facts, policy)
    if verdict := _denied(facts, policy, writes) or _always(facts, policy, writes):
        return verdict
    if facts.role in (Role.ASKS, Role.DELEGATES):
        return said(ALLOW, Level.DEFAULT, "builtin", f"{facts.tool} runs nothing by itself")
    if verdict := _explicit(facts, policy, writes) or _risky(facts, policy):
        return verdict
    if policy.classifies:
        return _assessed(facts)
    return _default(facts, policy)


def _denied(facts: Facts, policy: Policy, writes: bool) -> Verdict | None:
    if layer := policy.denied_by(facts.tool):
        return said(DENY, Level.DENY, "denied", f"the {layer} denies {facts.tool}")
    if writes and (layer := policy.denied_by(WRITE)):
        why = f"the {layer} denies {WRITE}, and this line may write a file by a redirect"
        return said(DENY, Level.DENY, "redirect_denied", why)
    return None


def _writes(facts: Facts, policy: Policy) -> bool:
    """Whether this is a shell line to which the words about `write_file` apply, if there are any.

    A line that can't be read and that redirects anything may write.
    """
    if facts.role is not Role.SHELL or not policy.speaks_of(WRITE):
        return False
    line = facts.line or ""
    return ">" in _HARMLESS.sub("", line) and isinstance(read(line), Opaque)


def _always(facts: Facts, policy: Policy, writes: bool) -> Verdict | None:
    if facts.condition_failed is not None:
        why = f"the tool's own condition failed: {facts.condition_failed}"
        return said(ASK, Level.ALWAYS, "condition_failed", why)
    if rule := policy.asks_always(facts.tool):
        why = f"{facts.tool} is asked about each time: {rule}"
        return said(ASK, Level.ALWAYS, "always_ask", why)
    if writes and (rule := policy.asks_always(WRITE)):
        why = f"a redirect that may write is asked about each time: {rule}"
        return said(ASK, Level.ALWAYS, "writes", why)
    if facts.role in (Role.ASKS, Role.DELEGATES):
        return None
    if facts.needs_approval:
        why = f"{facts.tool} is approved before each call"
        return said(ASK, Level.ALWAYS, "needs_approval", why)
    if _source(facts, policy) is SourcePolicy.ALWAYS:
        why = f"the source {facts.source} asks before each call of {facts.raw}"
        return said(ASK, Level.ALWAYS, "source_always", why)
    return None


def _source(facts: Facts, policy: Policy) -> SourcePolicy | None:
    if facts.source is None or (source := policy.sources.get(facts.source)) is None:
        return None
    return source.about(facts.raw)


def _explicit(facts: Facts, policy: Policy, writes: bool) -> Verdict | None:
    if writes and policy.word_about(WRITE) is ASK:
        why = f"tool_permissions says that {WRITE} asks, and this line may write"
        return said(ASK, Level.EXPLICIT, "writes", why)
    match policy.word_about(facts.tool):
        case Decision.ASK:
            why = f"tool_permissions says that {facts.tool} asks"
            return said(ASK, Level.EXPLICIT, "permission", why)
        case Decision.ALLOW:
            why = f"tool_permissions allows {facts.tool}"
            own = policy.operator.tools.get(facts.tool) is ALLOW
            bound = None if own else _operator_asks(facts, policy)
            return bound or said(ALLOW, Level.EXPLICIT, "permission", why)
        case _:
            return _by_source(facts, policy) or _listed(facts, policy)


def _operator_asks(facts: Facts, policy: Policy) -> Verdict | None:
    """What the operator's own rules ask for: only the operator's own `allow` lifts them."""
    source = policy.operator_sources.get(facts.source or "")
    ruled = _by_rule(facts, source.about(facts.raw)) if source else None
    if ruled is not None and ruled.decision is ASK:
        return ruled
    return _risky(facts, policy) if policy.bound_reached_by(facts.risk) else None


def _by_source(facts: Facts, policy: Policy) -> Verdict | None:
    found = _by_rule(facts, _source(facts, policy))
    if found is not None and found.decision is ALLOW and policy.bound_reached_by(facts.risk):
        return None
    return found


def _by_rule(facts: Facts, rule: SourcePolicy | None) -> Verdict | None:
    name = f"{facts.raw} of {facts.source}"
    match rule:
        case SourcePolicy.NEVER:
            return _unless_critical(facts, "source", f"{facts.source} needs nobody")
        case SourcePolicy.DESTRUCTIVE if facts.destructive:
            why = f"{name} is declared destructive"
            return said(ASK, Level.EXPLICIT, "destructive", why)
        case SourcePolicy.DESTRUCTIVE:
            why = f"{name} is not declared destructive"
            return _unless_critical(facts, "source", why)
        case SourcePolicy.UNLESS_READ_ONLY if _only_reads(facts):
            why = f"{name} is declared read-only"
            return _unless_critical(facts, "source", why)
        case SourcePolicy.UNLESS_READ_ONLY:
            why = f"{name} is not declared read-only"
            return said(ASK, Level.EXPLICIT, "not_read_only", why)
        case _:
            return None


def _listed(facts: Facts, policy: Policy) -> Verdict | None:
    if policy.allowed is None or policy.bound_reached_by(facts.risk):
        return None
    if facts.tool in policy.allowed.names:
        return said(ALLOW, Level.EXPLICIT, "listed", f"{facts.tool} is in allowed_tools")
    if policy.allowed.everything and facts.loaded:
        return _unless_critical(facts, "listed", "allowed_tools has `*`")
    return None


def _only_reads(facts: Facts) -> bool:
    """Whether a tool is declared read-only; one that is declared destructive as well is not believed."""
    return facts.read_only is True and not facts.destructive


def _unless_critical(facts: Facts, code: str, why: str) -> Verdict | None:
    """An allow that names no tool is not meant for the worst of them."""
    if facts.risk is ToolRisk.CRITICAL:
        return None
    return said(ALLOW, Level.EXPLICIT, code, why)


def _risky(facts: Facts, policy: Policy) -> Verdict | None:
    if not facts.risk.reaches(policy.threshold):
        return None
    why = f"{facts.tool} is {facts.risk}; {policy.threshold} and above need a person"
    return said(ASK, Level.RISK, "risk", why)


def _assessed(facts: Facts) -> Verdict | None:
    found = facts.assessment
    if found is None:
        return None
    if not found.asks:
        why = f"the classifier sees no risk in this call{_because(found.reason)}"
        return said(ALLOW, Level.CLASSIFIER, "classifier", why)
    code = "classifier_failed" if found.failed else "classifier"
    what = "the classifier failed" if found.failed else "the classifier wants a person"
    return said(ASK, Level.CLASSIFIER, code, what + _because(found.reason))


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _default(facts: Facts, policy: Policy) -> Verdict:
    if policy.asks_by_default:
        why = f"nothing allows {facts.tool}, and what nothing allows is asked about"
        return said(ASK, Level.DEFAULT, "default_ask", why)
    if facts.role in (Role.SHELL, Role.WRITES):
        why = f"{facts.tool} asks unless something allows it"
        return said(ASK, Level.DEFAULT, "builtin_asks", why)
    if facts.source is not None and not _trusted_reader(facts, policy):
        why = f"there is no rule for {facts.raw} of the source {facts.source}"
        return said(ASK, Level.DEFAULT, "source_without_policy", why)
    return said(ALLOW, Level.DEFAULT, "default", f"nothing asks for a person before {facts.tool}")


def _trusted_reader(facts: Facts, policy: Policy) -> bool:
    source = policy.sources.get(facts.source or "")
    return source is not None and source.trusted and _only_reads(facts)

"""What turns an ask into an allow: a grant, trust, the safe list, an unattended run that says so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from placet.domain.audience import ONE_YES
from placet.domain.grant import Grant
from placet.gate.facts import Facts, Role
from placet.gate.levels import judge
from placet.gate.policy import NOTHING, Policy
from placet.gate.shell import judge_line
from placet.gate.taint import bounded
from placet.gate.verdict import Decision, Level, Reason, Verdict, said


@dataclass(frozen=True, slots=True)
class Standing:
    """What was allowed before, and still holds."""

    grants: Sequence[Grant] = ()
    trusted: Mapping[str, str] = field(default_factory=dict)
    """Tools that the initiator trusts, each with the digest of its schema then."""


def gate(facts: Facts, policy: Policy, standing: Standing = Standing()) -> Verdict | None:
    """The verdict on one call; None while the classifier has to be asked first.

    A pure function: the same facts give the same verdict. Nothing lifts a deny, or what is asked
    about each time.
    """
    verdict = _gated(facts, policy, standing)
    return None if verdict is None else bounded(verdict, facts, policy, standing.grants)


def _gated(facts: Facts, policy: Policy, standing: Standing) -> Verdict | None:
    verdict = judge(facts, policy)
    if verdict is None:
        # What lifts the ask anyway need not be assessed.
        assumed = said(Decision.ASK, Level.CLASSIFIER, "classifier", "not assessed")
        lifted = _lifted(assumed, facts, policy, standing)
        return lifted if lifted.decision is Decision.ALLOW else None
    if verdict.decision is not Decision.ASK:
        return verdict
    if verdict.every_time:
        return _unattended_always(verdict, policy)
    return _unattended(_lifted(verdict, facts, policy, standing), facts, policy)


def _lifted(verdict: Verdict, facts: Facts, policy: Policy, standing: Standing) -> Verdict:
    """The verdict that allows it, or the one that asks."""
    if facts.role is Role.SHELL:
        return _line(verdict, facts, policy, standing)
    held = (grant for grant in standing.grants if _holds(grant, facts, policy))
    if grant := next((g for g in held if not g.keys), None):
        return _allowed(verdict, "granted", _given(grant), (grant.id,))
    if _trusts(facts, policy, standing):
        return _allowed(verdict, "trusted", f"{facts.tool} is trusted for this person's runs")
    if entry := policy.safe.tools.get(facts.tool):
        return _allowed(
            verdict, "safe_list", f"{facts.tool} is on the safe list ({entry.file or entry.source})"
        )
    return verdict


def _line(verdict: Verdict, facts: Facts, policy: Policy, standing: Standing) -> Verdict:
    """A line may run if each of its commands is safe or granted, or if it was granted as it is."""
    held = [grant for grant in standing.grants if _holds(grant, facts, policy)]
    if whole := next((grant for grant in held if grant.exact), None):
        return _allowed(verdict, "granted", _given(whole), (whole.id,))
    by_key = {key: grant for grant in held for key in grant.keys}
    safe = policy.safe if policy.isolated else NOTHING
    found = judge_line(facts.line or "", safe, by_key.keys())
    if found.decision is not Decision.ALLOW:
        return _saying(verdict, found.reason)
    used = dict.fromkeys(by_key[each.key].id for each in found.covered if each.entry is None)
    code = "granted" if used else "safe_list"
    return _allowed(verdict, code, found.reason.sentence, tuple(used))


def _saying(verdict: Verdict, why: Reason) -> Verdict:
    """The ask, with what of the line nothing covers."""
    own = verdict.reason
    code = why.code if own.code == "builtin_asks" else own.code
    reason = Reason(code=code, sentence=f"{own.sentence}; {why.sentence}")
    return verdict.model_copy(update={"reason": reason})


def _holds(grant: Grant, facts: Facts, policy: Policy) -> bool:
    """Whether a grant covers this call: it means it, was given for no lesser risk, and not for data alone.

    What takes several people, or others, is granted by as many.
    """
    meant = facts.meant_by(grant) and grant.risk.reaches(facts.risk) and grant.clearance is None
    return meant and policy.satisfied_by(grant.asked, facts.tool, facts.risk)


def _trusts(facts: Facts, policy: Policy, standing: Standing) -> bool:
    """Whether trust lets it run. It is one person's word: what takes more than that asks."""
    trusted = policy.trusts and standing.trusted.get(facts.tool) == facts.schema_digest
    return trusted and policy.satisfied_by(ONE_YES, facts.tool, facts.risk)


def _given(grant: Grant) -> str:
    who = (grant.by.name or grant.by.id) if grant.by else "a person"
    what = "exactly this call" if grant.exact else f"{grant.tool} with any arguments"
    return f"{who} allowed {what} for this {grant.scope}"


def _allowed(verdict: Verdict, code: str, sentence: str, grants: tuple[str, ...] = ()) -> Verdict:
    return Verdict(
        decision=Decision.ALLOW,
        level=verdict.level,
        reason=Reason(code=code, sentence=sentence),
        lifted=verdict.reason,
        grants=grants,
    )


def _unattended(verdict: Verdict, facts: Facts, policy: Policy) -> Verdict:
    if verdict.decision is Decision.ALLOW:
        return verdict
    match policy.unattended:
        case Decision.ALLOW if not policy.names_people_for(facts.tool, facts.risk):
            why = "nobody is there, and the operator lets such runs go on"
            return _allowed(verdict, "unattended", why)
        case Decision.DENY:
            return _nobody(verdict)
        case _:
            return verdict


def _unattended_always(verdict: Verdict, policy: Policy) -> Verdict:
    """What is asked about each time is never allowed for want of a person."""
    return _nobody(verdict) if policy.unattended is Decision.DENY else verdict


def _nobody(verdict: Verdict) -> Verdict:
    why = f"nobody is there to ask: {verdict.reason.sentence}"
    return said(Decision.DENY, verdict.level, "unattended", why)

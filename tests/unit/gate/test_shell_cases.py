"""What is decided about each of many lines, and what an approval of them would grant."""

import pytest

from placet.gate import Decision
from placet.gate.shell import grants
from tests.unit.gate.cases import CASES, Case

pytestmark = pytest.mark.unit

FIRM = [case for case in CASES if case.firm]
SOFT = [case for case in CASES if not case.firm]


def named(case: Case) -> str:
    return case.id


@pytest.mark.parametrize("case", FIRM, ids=named)
def test_a_line_is_decided_as_everybody_would(case: Case) -> None:
    assert case.judged().decision == case.expect


@pytest.mark.parametrize("case", [case for case in FIRM if case.grants_firm], ids=named)
def test_a_line_offers_to_grant_what_is_on_it(case: Case) -> None:
    offered = None if case.grants_offered is None else tuple(case.grants_offered)
    assert grants(case.line) == case.judged().grants == offered


def test_where_tastes_differ_the_gate_is_never_laxer() -> None:
    laxer = [
        case.id
        for case in SOFT
        if case.expect == "ask" and case.judged().decision == Decision.ALLOW
    ]
    assert laxer == []


@pytest.mark.parametrize("case", CASES, ids=named)
def test_every_verdict_says_why(case: Case) -> None:
    verdict = case.judged()
    assert verdict.reason.code
    assert verdict.reason.sentence.isprintable()
    assert verdict.uncovered or verdict.covered or verdict.grants is None

"""A shell redirect is bounded by what is said about writing files."""

import pytest

from placet.gate import Decision, Facts, Layer, Policy, Role, gate

pytestmark = pytest.mark.unit

NO_WRITING = Policy(operator=Layer(tools={"write_file": Decision.DENY}))


def decided(line: str, policy: Policy = NO_WRITING) -> str:
    verdict = gate(Facts(tool="bash", role=Role.SHELL, line=line), policy)
    assert verdict is not None
    return f"{verdict.decision}:{verdict.reason.code}"


@pytest.mark.parametrize(
    "line", ["ls > f", "echo x >> f", "cat <<E > f\nx\nE", "echo $(ls > f)", "ls 2> f", "ls &> f"]
)
def test_l40_a_line_that_may_write_is_denied_where_writing_is(line: str) -> None:
    assert decided(line) == "deny:redirect_denied"


@pytest.mark.parametrize("line", ["ls 2>/dev/null", "ls 2>&1"])
def test_a_harmless_redirect_stays_free(line: str) -> None:
    assert decided(line).startswith("allow:")


def test_a_redirect_asks_where_writing_is_not_denied() -> None:
    assert decided("ls > f", Policy()) == "ask:writes"


def test_other_lines_are_judged_as_ever() -> None:
    assert decided("rm x").startswith("ask:")

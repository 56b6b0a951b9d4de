"""`HumanInTheLoop` in place: what asks, what an answer means, and what trust covers."""

import asyncio
import io
import json
import sys
import threading
from dataclasses import replace
from typing import Any

import pytest

import placet
from placet import Agent, HumanInTheLoop, LLMClassifierConfig, RiskVerdict, ToolRisk, tool
from placet.agents.interventions import AskCallback, EvaluateCallback
from placet.domain.interaction import ToolCall
from placet.errors import DefinitionError
from placet.gate import Role
from placet.kernel.journal import TrustGiven
from tests.support.asked import READ, SEND, WIPE, Desk, agent, run, told

pytestmark = pytest.mark.unit

# fmt: off
NO_YES = [
    False, 1, 0, "", "true", "True", "approve", "approved", "ok", "yes!", "yes.", "t", "trust", "no",
    "\uff39", "ye s", ["y"], [], {}, {"decision": "approved"}, object(), 1.0,
]
# fmt: on


@pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("answer", "did"), [("yes", ["send"]), ("no", [])])
async def test_s4_an_answer_in_place_decides_and_the_run_goes_on(
    answer: str, did: list[str], later: bool
) -> None:
    desk = Desk([answer])
    ended = await run(desk, [SEND], ask=desk.ask_later if later else desk.ask)
    assert (ended.status, ended.text, desk.did) == ("completed", "done", did)


@pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
async def test_s5_no_response_is_a_denial_that_says_so(later: bool) -> None:
    desk = Desk([None])
    ended = await run(desk, [SEND], ask=desk.ask_later if later else desk.ask)
    assert (ended.status, desk.did) == ("completed", [])
    assert told(ended) == [("denied", "Denied: the callback gave no response")]


@pytest.mark.parametrize("error", [RuntimeError("the window is gone"), KeyboardInterrupt()])
async def test_s6_a_callback_that_raises_ends_the_run_and_no_tool_runs(
    error: BaseException,
) -> None:
    desk = Desk(["yes", error])
    with pytest.raises(type(error)):
        await run(desk, [SEND, READ], allowed_tools=["wipe"])
    assert desk.did == []


async def test_s7_a_listed_tool_runs_and_nobody_is_asked() -> None:
    desk = Desk(["no"])
    await run(desk, [READ], allowed_tools=["read"])
    assert (desk.did, desk.prompts) == (["read"], [])


async def test_s8_a_tool_that_is_not_listed_is_asked_about() -> None:
    desk = Desk(["no"])
    await run(desk, [SEND], allowed_tools=["read"])
    assert (desk.did, desk.asked) == ([], ["send"])


async def test_s9_a_star_lets_every_tool_run_unasked() -> None:
    desk = Desk()
    await run(desk, [SEND, READ], [WIPE], allowed_tools=["*"])
    assert (desk.did, desk.prompts) == (["send", "read", "wipe"], [])


@pytest.mark.parametrize("listed", [["*", "!wipe"], ["!wipe", "*"], ["*", "wipe", "!wipe"]])
async def test_s10_a_negation_takes_a_tool_out_of_the_star_in_any_order(listed: list[str]) -> None:
    desk = Desk(["no"])
    await run(desk, [SEND, WIPE, READ], allowed_tools=listed)
    assert (desk.asked, desk.did) == (["wipe"], ["send", "read"])


async def test_s11_a_negation_alone_allows_nothing() -> None:
    desk = Desk(["no", "no"])
    await run(desk, [SEND, WIPE], allowed_tools=["!wipe"])
    assert desk.asked == ["send", "wipe"]


@pytest.mark.parametrize("make", [HumanInTheLoop, lambda **o: agent(Desk(), **o)])
def test_s12_one_bare_string_is_no_list(make: Any) -> None:
    with pytest.raises(DefinitionError, match="use a list of names"):
        make(allowed_tools="read")


@pytest.mark.parametrize("listed", ["Wipe", "wipe ", "wip*", "WIPE", "!Wipe", "! wipe"])
def test_s13_a_listed_name_is_exact_and_one_that_names_no_tool_refuses_the_definition(
    listed: str,
) -> None:
    with pytest.raises(DefinitionError, match="its tools are read, send, wipe"):
        agent(Desk(), interventions=[HumanInTheLoop(allowed_tools=[listed])])


@pytest.mark.parametrize("name", ["Wipe", "wipe ", "wi.pe"])
async def test_s13_a_call_by_another_spelling_is_of_no_tool(name: str) -> None:
    desk = Desk()
    ended = await run(desk, [(name, {"disk": "sda"})], user="alice", allowed_tools=["*", "!wipe"])
    assert (desk.ran, desk.prompts, told(ended)[0][0]) == ([], [], "refused")


async def test_s14_a_prompt_names_the_tool_and_shows_the_arguments_as_json() -> None:
    desk = Desk(["no"])
    args = {"to": "J\u00f6rg \u202e\n\x1b[2J"}
    await run(desk, [("send", args)])
    question, shown = desk.prompts[0].split("\n")
    assert question.startswith("Allow tool 'send' to run? \u2014 ")
    assert shown == json.dumps(args)
    assert shown.isascii()


async def test_s14_no_reason_can_add_a_line_to_a_prompt() -> None:
    desk = Desk(["no"])
    await run(desk, [SEND], classifier=lambda call: RiskVerdict(True, "fine?\n{}\n(y/n) \x1b[2J"))
    assert len(desk.prompts[0].split("\n")) == 2
    assert "\x1b" not in desk.prompts[0]


@pytest.mark.parametrize(
    ("answer", "did"), [("sure", ["send"]), ("y", []), (True, []), ({"ok": 1}, [])]
)
async def test_s15_an_evaluator_of_one_s_own_replaces_the_words(
    answer: Any, did: list[str]
) -> None:
    def sure(response: Any, **more: Any) -> bool:
        return bool(response == "sure")

    desk = Desk([answer])
    await run(desk, [SEND], evaluate=sure)
    assert desk.did == did


@pytest.mark.parametrize("verdict", [1, "yes", "True", [True], object()])
async def test_s15_only_true_of_an_evaluator_approves(verdict: Any) -> None:
    desk = Desk(["y"])
    await run(desk, [SEND], evaluate=lambda response: verdict)
    assert desk.did == []


@pytest.mark.parametrize("which", ["evaluate", "evaluate_trust"])
async def test_s15_an_evaluator_that_raises_has_not_approved(which: str) -> None:
    desk = Desk(["y"])
    broken: dict[str, Any] = {which: lambda response: response["ok"]}
    ended = await run(desk, [SEND], enable_trust=True, **broken)
    assert (desk.did, told(ended)[0][0]) == ([], "denied")


@pytest.mark.parametrize("answer", [True, "y", "Y", " yes ", "YES\n", "\tYes"])
async def test_s16_a_clear_yes_runs_the_call(answer: Any) -> None:
    desk = Desk([answer])
    await run(desk, [SEND])
    assert desk.did == ["send"]


@pytest.mark.parametrize("answer", NO_YES)
async def test_s16_nothing_else_does(answer: Any) -> None:
    desk = Desk([answer])
    ended = await run(desk, [SEND])
    assert (desk.ran, told(ended)[0][0]) == ([], "denied")


@pytest.mark.parametrize("word", ["t", "trust", "T", " Trust\n"])
async def test_s17_trust_runs_this_call_and_is_remembered(word: str) -> None:
    desk = Desk([word])
    ended = await run(desk, [SEND], [("send", {"to": "eve"})], enable_trust=True)
    assert (desk.asked, desk.did) == (["send"], ["send", "send"])
    assert len([e for e in ended.journal if isinstance(e, TrustGiven)]) == 1


async def test_s17_trust_is_for_the_one_tool() -> None:
    desk = Desk(["t", "no"])
    await run(desk, [SEND], [READ], enable_trust=True)
    assert (desk.asked, desk.did) == (["send", "read"], ["send"])


async def test_s19_a_trust_evaluator_of_one_s_own_is_the_only_word_and_is_asked_first() -> None:
    order: list[str] = []

    def trusting(response: Any) -> bool:
        order.append(f"trust? {response}")
        return bool(response == "always")

    def approving(response: Any) -> bool:
        order.append(f"approve? {response}")
        return bool(response == "once")

    desk = Desk(["once", "t", "always"])
    turns = [[("send", {"to": name})] for name in ("a", "b", "c", "d")]
    await run(desk, *turns, enable_trust=True, evaluate_trust=trusting, evaluate=approving)
    assert [args["to"] for _, args in desk.ran] == ["a", "c", "d"]
    assert order == ["trust? once", "approve? once", "trust? t", "approve? t", "trust? always"]


async def test_s19_without_enable_trust_it_is_never_consulted() -> None:
    consulted: list[Any] = []

    def trusting(response: Any) -> bool:
        consulted.append(response)
        return True

    desk = Desk(["no", "y"])
    await run(desk, [SEND], [READ], evaluate_trust=trusting)
    assert (desk.did, consulted) == (["read"], [])


async def test_s20_a_negated_tool_is_neither_trusted_nor_approved_by_t() -> None:
    desk = Desk(["t"])
    ended = await run(desk, [WIPE], allowed_tools=["!wipe"], enable_trust=True)
    assert (desk.did, told(ended)[0][0]) == ([], "denied")
    assert not [e for e in ended.journal if isinstance(e, TrustGiven)]


async def test_s20_a_shell_is_neither_trusted_nor_approved_by_t() -> None:
    desk = Desk(["t"])

    @tool
    async def bash(command: str) -> str:
        """Run it."""
        desk.ran.append(("bash", {"command": command}))
        return ""

    shell = replace(bash, role=Role.SHELL)
    watched = replace(
        agent(desk, [("bash", {"command": "rm x"})]),
        tools=[shell],
        interventions=[HumanInTheLoop(ask=desk.ask, enable_trust=True)],
    )
    await watched.run("go")
    assert (len(desk.prompts), desk.did) == (1, [])


async def test_s22_trust_holds_for_later_runs_of_the_same_user_and_of_no_other() -> None:
    desk = Desk(["t", "no", "t"])
    watched = agent(desk, [SEND], interventions=[HumanInTheLoop(ask=desk.ask, enable_trust=True)])
    for user in ("alice", "alice", "bob", None, None):
        await watched.run("go", user=user)
    assert len(desk.prompts) == 3, "alice once, bob once, and once for nobody in particular"
    assert len(desk.ran) == 4


async def test_s22_trust_of_one_agent_is_not_another_s() -> None:
    desk = Desk(["t", "no"])
    for _ in range(2):
        await run(desk, [SEND], user="alice", enable_trust=True)
    assert (len(desk.prompts), len(desk.ran)) == (2, 1)


async def test_s24_a_later_negation_wins_over_trust() -> None:
    desk = Desk(["t", "no"])
    options: dict[str, Any] = {"ask": desk.ask, "enable_trust": True}
    before = agent(desk, [SEND], interventions=[HumanInTheLoop(**options)])
    await before.run("go", user="alice")
    after = replace(
        before, interventions=[HumanInTheLoop(allowed_tools=["!send"], **options)], name="later"
    )
    after.trusted.update(before.trusted)
    await after.run("go", user="alice")
    assert (len(desk.prompts), len(desk.ran)) == (2, 1)


async def test_trust_ends_with_the_schema_that_it_was_given_under() -> None:
    desk = Desk(["t", "no"])
    before = agent(desk, [SEND], interventions=[HumanInTheLoop(ask=desk.ask, enable_trust=True)])
    await before.run("go", user="alice")
    send, *rest = before.tools
    after = replace(before, tools=[replace(send, description="Send it to everybody."), *rest])
    after.trusted.update(before.trusted)
    await after.run("go", user="alice")
    assert (len(desk.prompts), len(desk.ran)) == (2, 1)


async def test_trust_counts_for_nothing_while_it_is_off() -> None:
    desk = Desk(["t", "no"])
    before = agent(desk, [SEND], interventions=[HumanInTheLoop(ask=desk.ask, enable_trust=True)])
    await before.run("go", user="alice")
    off = replace(before, interventions=[HumanInTheLoop(ask=desk.ask)])
    off.trusted.update(before.trusted)
    await off.run("go", user="alice")
    assert (len(desk.prompts), len(desk.ran)) == (2, 1)


async def test_s25_negated_then_trusted_then_star_then_listed_then_classifier_then_ask() -> None:
    judged: list[str] = []

    def risky(call: ToolCall) -> RiskVerdict:
        judged.append(call.tool)
        return RiskVerdict(True, "risky")

    desk = Desk(["t", "no", "t"])
    await run(
        desk,
        [SEND],
        [READ, SEND, WIPE],
        allowed_tools=["read", "!wipe"],
        enable_trust=True,
        classifier=risky,
    )
    assert judged == ["send"], "neither what is listed, nor trusted, nor negated is judged"
    assert desk.asked == ["send", "wipe"]
    assert desk.did == ["send", "read", "send"]


async def test_s25_a_star_speaks_before_the_classifier() -> None:
    with pytest.warns(UserWarning, match="no effect"):
        watched = HumanInTheLoop(
            allowed_tools=["*", "!wipe"], classifier=lambda call: RiskVerdict(True), ask=print
        )
    desk = Desk()
    await agent(desk, [SEND, READ], interventions=[watched]).run("go")
    assert desk.did == ["send", "read"]


async def test_s27_trusting_one_of_two_calls_of_a_turn_lets_the_other_run_too() -> None:
    desk = Desk(["t"])
    await run(desk, [SEND, ("send", {"to": "eve"})], enable_trust=True)
    assert [args["to"] for _, args in desk.ran] == ["bob", "eve"]
    assert len(desk.prompts) == 1


async def test_a_call_that_was_denied_before_trust_was_given_does_not_run() -> None:
    desk = Desk(["no", "t"])
    await run(desk, [SEND, ("send", {"to": "eve"})], enable_trust=True)
    assert [args["to"] for _, args in desk.ran] == ["eve"]


@pytest.mark.parametrize(
    ("line", "trust", "did"), [("y", False, 1), ("n", False, 0), ("t", True, 1), ("t", False, 0)]
)
async def test_s33_the_terminal_shows_the_tool_and_the_choices_and_reads_a_line(
    line: str, trust: bool, did: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{line}\n"))
    desk = Desk()
    await run(desk, [("send", {"to": "\u202ebob"})], ask="stdio", enable_trust=trust)
    shown = capsys.readouterr().out
    assert "send" in shown
    assert ("(y/n/t)" if trust else "(y/n) ") in shown
    assert "\u202e" not in shown
    assert len(desk.ran) == did


class OneReader(io.StringIO):
    """A terminal that notices when two read from it at once."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()
        self.crowded = False

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        if not self.lock.acquire(blocking=False):
            self.crowded = True
        try:
            threading.Event().wait(0.01)
            return super().readline(size)
        finally:
            self.lock.release()


def test_s33_two_loops_read_from_the_terminal_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    terminal = OneReader("y\n" * 12)
    monkeypatch.setattr(sys, "stdin", terminal)
    desk = Desk()
    watched = agent(desk, [SEND], interventions=[HumanInTheLoop(ask="stdio")])

    async def several() -> None:
        await asyncio.gather(*(watched.run("go") for _ in range(3)))

    threads = [threading.Thread(target=lambda: asyncio.run(several())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(several())  # a loop after those, with a crowd of its own
    assert (len(desk.ran), terminal.crowded) == (9, False)


async def test_s33_a_terminal_that_is_closed_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    desk = Desk()
    with pytest.raises(EOFError):
        await run(desk, [SEND], ask="stdio")
    assert desk.ran == []


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ([HumanInTheLoop(), HumanInTheLoop()], "two interventions are called 'human-in-the-loop'"),
        (["approve"], "a list with one HumanInTheLoop"),
        (HumanInTheLoop(), "a list with one HumanInTheLoop"),
    ],
)
def test_s34_an_agent_takes_one(given: Any, word: str) -> None:
    with pytest.raises(DefinitionError, match=word):
        agent(Desk(), interventions=given)


def test_s35_the_names_that_authors_need_are_public_and_the_contracts_can_be_checked() -> None:
    public = {"HumanInTheLoop", "HumanInTheLoopClassifier", "LLMClassifierConfig"}
    assert public <= set(placet.__all__)
    assert not {"AskCallback", "EvaluateCallback"} & set(placet.__all__)
    for contract in (AskCallback, EvaluateCallback, placet.HumanInTheLoopClassifier):
        assert isinstance(print, contract)
        assert not isinstance("print", contract)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"ask": "terminal"}, "ask is 'terminal'"),
        ({"ask": 3}, "ask is 3"),
        ({"evaluate": "yes"}, "evaluate is 'yes'"),
        ({"evaluate_trust": True}, "evaluate_trust is True"),
        ({"evaluate": Desk().ask_later}, "not async"),
        ({"classifier": "careful"}, "classifier is 'careful'"),
        ({"classifier": 1}, "classifier is 1"),
        ({"allowed_tools": ["!"]}, "'!' is no name"),
    ],
)
def test_an_option_that_can_not_be_used_is_named(options: dict[str, Any], word: str) -> None:
    with pytest.raises(DefinitionError, match=word):
        HumanInTheLoop(**options)


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ({"allowed_tools": ["read"]}, "allowed_tools is said by the agent and by HumanInTheLoop"),
        ({"classifier": True}, "classifier is said by the agent and by HumanInTheLoop"),
        ({"classifier": "careful"}, "classifier is 'careful'"),
    ],
)
def test_a_rule_that_is_said_twice_is_refused(parts: dict[str, Any], word: str) -> None:
    watched = HumanInTheLoop(allowed_tools=["read"], classifier=LLMClassifierConfig())
    with pytest.raises(DefinitionError, match=word):
        agent(Desk(), interventions=[watched], **parts)


async def test_a_prompt_says_what_trust_means_only_where_it_can_be_given() -> None:
    desk = Desk(["no"] * 3)
    await run(desk, [SEND, WIPE], allowed_tools=["!wipe"], enable_trust=True)
    await run(desk, [SEND])
    meant = ["any arguments" in prompt for prompt in desk.prompts]
    assert meant == [True, False, False]


async def test_a_handler_decides_where_nothing_asks_in_place_and_no_evaluator_reads_its_word() -> (
    None
):
    desk = Desk()
    watched = agent(desk, [SEND], interventions=[HumanInTheLoop(evaluate=lambda response: False)])
    await watched.run("go", approval_handler=lambda request: True)
    assert desk.did == ["send"]
    await watched.run("go")
    assert desk.did == ["send"], "and nobody to ask is a denial"


async def test_a_star_is_not_meant_for_critical_tools() -> None:
    desk = Desk(["no"])
    watched = agent(desk, [WIPE], [SEND])
    send, read, wipe = watched.tools
    stern = replace(
        watched,
        tools=[send, read, replace(wipe, risk=ToolRisk.CRITICAL)],
        interventions=[HumanInTheLoop(allowed_tools=["*"], ask=desk.ask)],
    )
    await stern.run("go")
    assert (desk.asked, desk.did) == (["wipe"], ["send"])


TWIN: list[tuple[dict[str, Any], list[Any], list[str]]] = [
    ({}, ["y", "y"], ["send", "wipe"]),
    ({}, ["n", "n"], []),
    ({"allowed_tools": ["send"]}, ["n"], ["send"]),
    ({"allowed_tools": ["*"]}, [], ["send", "wipe"]),
    ({"allowed_tools": ["*", "!wipe"]}, ["n"], ["send"]),
    ({"enable_trust": True}, ["T", "Trust"], ["send", "wipe"]),
    ({"evaluate": lambda response: response == "go"}, ["go", "y"], ["send"]),
    (
        {"enable_trust": True, "evaluate_trust": lambda response: response == "ever"},
        ["t", "ever"],
        ["wipe"],
    ),
    ({"classifier": False}, ["y", "n"], ["send"]),
    ({"classifier": lambda call: RiskVerdict(call.tool == "wipe")}, ["n"], ["send"]),
    ({"classifier": lambda call: RiskVerdict(True, "a reason")}, ["y", "n"], ["send"]),
    ({"classifier": lambda call: RiskVerdict(False)}, [], ["send", "wipe"]),
]


@pytest.mark.parametrize(("options", "answers", "did"), TWIN)
async def test_s70_each_way_to_set_it_up_asks_and_runs_what_its_twins_do(
    options: dict[str, Any], answers: list[Any], did: list[str]
) -> None:
    desk = Desk(answers)
    await run(desk, [SEND, WIPE], **options)
    assert (desk.did, len(desk.prompts)) == (did, len(answers))


def test_an_agent_is_known_by_what_it_is_and_not_by_what_it_was_told() -> None:
    one = Agent("a", model="x:y")
    one.trusted["alice"] = {"send": "sha256:0"}
    assert replace(one).trusted == {}
    assert "sha256" not in repr(one)

"""The real client code, against a local server that speaks the OpenAI protocol."""

from collections.abc import Iterator

import pytest

from placet import Agent, Context, ToolRisk, tool
from placet.agents.models import Conversation, ToolSchema
from placet.agents.providers import ProviderModel
from placet.errors import DefinitionError, ModelError
from placet.kernel.journal import (
    Entry,
    MessageReceived,
    ModelReplied,
    ToolFinished,
    read_entry,
    write_entry,
)
from placet.kernel.state import fold
from placet.kernel.turns import CallOutcome, CallResult, UserTurn
from tests.integration.models.openai_server import OpenAIServer, openai_server

pytestmark = pytest.mark.integration
SCHEMA = ToolSchema(
    "drop", "Drop it.", {"type": "object", "properties": {"name": {"type": "string"}}}
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with openai_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        yield server


def said(text: str) -> Conversation:
    return Conversation("Be brief.", (UserTurn(text=text),), (SCHEMA,))


async def test_a_text_comes_back_with_its_usage(server: OpenAIServer) -> None:
    server.will_say("hello")
    reply = await ProviderModel("openai-chat:test-model").reply(said("hi"))
    assert (reply.text, reply.calls) == ("hello", ())
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 3)
    (sent,) = server.requests
    assert [m["role"] for m in sent["messages"]] == ["system", "user"]
    assert sent["tools"][0]["function"]["name"] == "drop"


async def test_calls_come_back_and_go_out_again_as_the_provider_knows_them(
    server: OpenAIServer,
) -> None:
    server.will_say(
        calls=[("prov_1", "drop", '{"name": "a"}'), ("prov_1", "drop", '{"name": "b"}')]
    )
    server.will_say("done")
    model = ProviderModel("openai-chat:test-model")
    reply = await model.reply(said("drop both"))
    assert [call.args for call in reply.calls] == [{"name": "a"}, {"name": "b"}]
    assert len({call.id for call in reply.calls}) == 2, "ids that a provider repeats are told apart"
    entries: list[Entry] = [MessageReceived(id="m", text="drop both"), ModelReplied(reply=reply)]
    entries_and_results = [
        *entries,
        *(
            ToolFinished(
                result=CallResult(call_id=c.id, tool=c.tool, outcome=CallOutcome.OK, content="ok")
            )
            for c in reply.calls
        ),
    ]
    stored = [read_entry(write_entry(entry)) for entry in entries_and_results]
    state = fold(stored)
    await model.reply(Conversation("Be brief.", tuple(state.turns), (SCHEMA,)))
    replayed = server.requests[1]["messages"]
    assert [m["role"] for m in replayed] == ["system", "user", "assistant", "tool", "tool"]
    assert [m["tool_call_id"] for m in replayed if m["role"] == "tool"] == ["prov_1", "prov_1"]


@pytest.mark.parametrize(
    "arguments",
    ['{"name": ', '["a"]', '{"name": "a", "name": "b"}', '{"n": NaN}', '{"n": 9007199254740993}'],
)
async def test_arguments_that_can_not_be_read_are_answered_and_never_run(
    server: OpenAIServer, arguments: str
) -> None:
    server.will_say(calls=[("p", "drop", arguments)])
    reply = await ProviderModel("openai-chat:test-model").reply(said("go"))
    (bad,) = reply.bad_calls
    assert bad.call_id == reply.calls[0].id
    assert bad.outcome is CallOutcome.ERROR


@pytest.mark.parametrize(
    ("status", "transient"), [(503, True), (429, True), (401, False), (400, False)]
)
async def test_a_provider_s_failure_is_one_request_and_its_own_message(
    server: OpenAIServer, status: int, transient: bool
) -> None:
    server.will_fail(status, "the provider's own words")
    with pytest.raises(ModelError, match="the provider's own words") as failed:
        await ProviderModel("openai-chat:test-model").reply(said("hi"))
    assert failed.value.transient is transient
    assert len(server.requests) == 1, "the vendor's client retried by itself"


async def test_a_provider_that_is_away_may_be_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with pytest.raises(ModelError) as failed:
        await ProviderModel("openai-chat:test-model").reply(said("hi"))
    assert failed.value.transient


async def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        await ProviderModel("openai-chat:test-model").reply(said("hi"))


async def test_a_model_s_name_needs_a_provider() -> None:
    with pytest.raises(DefinitionError, match="provider:name"):
        Agent("ops", model="gpt-5")


async def test_an_agent_runs_on_a_real_client_unchanged(server: OpenAIServer) -> None:
    @tool(risk=ToolRisk.CRITICAL)
    async def drop(ctx: Context, name: str) -> str:
        """Drop it."""
        return f"dropped {name}"

    ops = Agent("ops", instructions="Be brief.", model="openai-chat:test-model", tools=[drop])
    server.will_say(calls=[("p", "drop", '{"name": "staging"}')])
    server.will_say("It is gone.")
    run = await ops.run("drop staging", approval_handler=lambda request: True)
    assert (run.status, run.text) == ("completed", "It is gone.")

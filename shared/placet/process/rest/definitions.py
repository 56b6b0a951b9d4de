"""/v1/definitions: what runs can be of."""

from placet.messages.examples import AT
from placet.process.rest.operation import Operation, page


def operations() -> dict[str, Operation]:
    """By operation id."""
    sent = {
        "model": "openai:gpt-5",
        "instructions": "Find out what the customer wants, then hand it over.",
        "builtins": ["ask_user_text", "ask_user_choice"],
        "delegates": ["ops"],
        "human_input": {"expires_in_seconds": 86_400, "approvers": ["group:support"]},
    }
    when = AT.isoformat().replace("+00:00", "Z")
    made = {
        "name": "intake",
        "source": "api",
        "tools": ["ask_user_choice", "ask_user_text", "delegate"],
        "model": "openai:gpt-5",
        "version": 1,
        "created_at": when,
        "created_by": "alice",
        "updated_at": when,
        "updated_by": "alice",
        "problem": None,
    }
    shown = made | {"definition": sent}
    return {
        "runner.agents": Operation({"200": page({"name": "intake"}, {"name": "ops"})}),
        "runner.definitions": Operation({"200": page(made, problems=[])}),
        "runner.definition": Operation({"200": shown, "304": None}),
        "runner.put_definition": Operation({"200": shown | {"version": 2}, "201": shown}, sent),
        "runner.delete_definition": Operation(),
    }

"""Forms that a tool asks: by schema or by model, with defaults, and with what is sealed."""

import enum
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr, field_validator

from placet import Agent, Context, ScriptedModel, tool
from placet.agents.model_forms import form_of
from placet.agents.scripted import calls, says, steps
from placet.domain.interaction import FormRequest
from placet.errors import Invalid
from tests.support.desk import Desk, told

pytestmark = pytest.mark.unit


class Size(enum.Enum):
    """How large."""

    SMALL = "s"
    LARGE = "l"


class Order(BaseModel):
    """What is ordered."""

    size: Size
    count: int = Field(default=1, ge=1, le=9)
    due: date | None = None
    extras: list[Literal["salt", "pepper"]] = []
    note: str | None = Field(default=None, max_length=20, title="Anything else?")


class Address(BaseModel):
    """Where to."""

    street: str


class Nested(BaseModel):
    """One model in another."""

    name: str
    address: Address


class Login(BaseModel):
    """Who."""

    user: str
    password: SecretStr = Field(min_length=4)

    @field_validator("user")
    @classmethod
    def _known(cls, user: str) -> str:
        if user == "nobody":
            msg = "nobody is not somebody"
            raise ValueError(msg)
        return user


async def asked(schema: Any, *answers: Any) -> tuple[list[Any], tuple[str, Any], Desk]:
    """What a tool got for this schema, what the model was told, and what was asked."""
    got: list[Any] = []

    @tool
    async def asks(ctx: Context) -> str:
        """Ask."""
        got.append(await ctx.ask("Fill this in", schema))
        return "done"

    desk = Desk(*answers)
    model = ScriptedModel(steps(calls(("asks", {})), says("done")))
    run = await Agent("a", model=model, tools=[asks]).run("go", interaction_handler=desk)
    ((outcome, content),) = told(run)
    assert "hunter2" not in repr(run.journal), "what is sealed is nowhere in the journal"
    return got, (outcome, content), desk


async def test_c19_a_form_is_checked_against_its_schema_and_the_tool_runs_again_with_it() -> None:
    form = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    got, _, _ = await asked(form, {"n": 3})
    assert got == [{"n": 3}]
    with pytest.raises(Invalid, match="do not fit"):
        await asked(form, {"n": "3"})


async def test_a_default_is_filled_in_for_the_tool() -> None:
    fields = {"n": {"type": "integer", "default": 3}, "t": {"type": "string"}}
    got, _, _ = await asked({"type": "object", "properties": fields, "required": ["n"]}, {})
    assert got == [{"n": 3}]


async def test_a_model_asks_a_form_and_the_answer_is_an_instance() -> None:
    answer = {"size": "l", "due": "2026-03-01", "extras": ["salt"]}
    got, _, desk = await asked(Order, answer)
    assert got == [Order(size=Size.LARGE, due=date(2026, 3, 1), extras=["salt"])]
    request = desk.asked[0]
    assert isinstance(request, FormRequest)
    assert request.form["required"] == ["size"]
    assert request.form["properties"]["note"] == {
        "type": "string",
        "maxLength": 20,
        "title": "Anything else?",
    }
    assert request.form["properties"]["size"]["enum"] == ["s", "l"]
    assert (await asked(Order, None))[0] == [None]


@pytest.mark.parametrize(
    ("answer", "pointer"),
    [
        ({"size": "x"}, "/size"),
        ({"size": "s", "count": 0}, "/count"),
        ({"size": "s", "z": 1}, "/z"),
    ],
)
async def test_what_the_model_does_not_allow_is_refused_before_the_tool_runs_again(
    answer: Any, pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await asked(Order, answer)
    cause = refused.value.__cause__
    assert isinstance(cause, Invalid)
    assert [each.pointer for each in cause.errors] == [pointer]


async def test_c22_a_model_in_a_model_is_the_tool_s_error_and_nobody_is_asked() -> None:
    got, (outcome, content), desk = await asked(Nested, {})
    assert (got, outcome, desk.asked) == ([], "error", [])
    assert "/properties/address/$ref: $ref is not allowed in a field" in content


async def test_c22_a_nested_object_is_the_tool_s_error_and_nobody_is_asked() -> None:
    form = {"type": "object", "properties": {"x": {"type": "object", "properties": {}}}}
    got, (outcome, content), desk = await asked(form, {})
    assert (got, outcome, desk.asked) == ([], "error", [])
    assert "/properties/x/properties" in content


async def test_a_field_that_may_be_none_without_a_default_can_not_be_asked() -> None:
    class Odd(BaseModel):
        x: str | None

    _, (outcome, content), _ = await asked(Odd, {})
    assert outcome == "error"
    assert "type 'null' is none of" in content


async def test_a_rule_of_the_model_s_own_refuses_in_words_without_the_values() -> None:
    answer = {"user": "nobody", "password": "hunter2"}
    _, (outcome, content), _ = await asked(Login, answer)
    assert outcome == "error"
    assert "nobody is not somebody" in content
    assert "hunter2" not in content


async def test_a_sealed_answer_reaches_the_tool_and_nobody_else() -> None:
    fields = {"user": {"type": "string"}, "password": {"type": "string", "sealed": True}}
    form = {"type": "object", "properties": fields, "required": ["password"]}
    got, _, desk = await asked(form, {"user": "ada", "password": "hunter2"})
    assert got == [{"user": "ada", "password": "hunter2"}]
    assert desk.asked[0].seal_key  # type: ignore[union-attr]


async def test_a_secret_of_a_model_is_sealed() -> None:
    assert form_of(Login)["properties"]["password"] == {
        "title": "Password",
        "type": "string",
        "minLength": 4,
        "writeOnly": True,
        "sealed": True,
    }
    got, _, _ = await asked(Login, {"user": "ada", "password": "hunter2"})
    assert got[0].password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(got[0])


async def test_what_does_not_fit_a_sealed_field_is_refused_without_repeating_it() -> None:
    with pytest.raises(Invalid) as refused:
        await asked(Login, {"user": "ada", "password": "pin"})
    assert "pin" not in f"{refused.value} {refused.value.__cause__}"

"""The tools with which a model asks a person. Each result is a sentence that the model reads."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from placet.agents.context import Context
from placet.agents.tool import Tool, tool
from placet.domain.interaction import InputState, Question

NO_ANSWER = "User provided no answer."
COUNTS_AS_NO = "Nobody answered, which counts as no."
EDIT = "Edit this text, or leave it as it is."


@tool(read_only=True)
async def ask_user_text(ctx: Context, question: str) -> str:
    """Ask the user a question and get a text back."""
    answer = await ctx.ask_text(question)
    if answer is None or not answer.strip():
        return _silence(ctx)
    return f"{_did(ctx, 'answered')}: {answer}"


@tool(read_only=True)
async def ask_user_choice(ctx: Context, question: str, options: list[str]) -> str:
    """Ask the user to pick one of at least two options."""
    choice = await ctx.choose(question, options)
    return _silence(ctx) if choice is None else f"{_did(ctx, 'chose')}: {choice}"


@tool(read_only=True)
async def ask_user_confirm(ctx: Context, question: str) -> str:
    """Ask the user a yes/no question."""
    if await ctx.confirm(question):
        return f"{_did(ctx, 'said yes')}."
    return f"{_did(ctx, 'said no')}." if ctx.outcome is InputState.DECLINED else COUNTS_AS_NO


@tool(read_only=True)
async def edit_document(ctx: Context, content: str, message: str = EDIT) -> str:
    """Let the user edit a text, and get it back as they left it."""
    edited = await ctx.edit_text(message, content)
    if edited is None:
        return f"{_silence(ctx)} The text is unchanged:\n{content}"
    if edited == content:
        return f"{_did(ctx, 'left the text unchanged')}:\n{content}"
    return f"{_did(ctx, 'edited the text')}. It is now:\n{edited}"


@tool(read_only=True)
async def present_for_review(ctx: Context, title: str, markdown: str) -> str:
    """Show the user a text, in Markdown, and get back what they have to say about it."""
    said = await ctx.review_text(title, markdown)
    if said is None:
        return _silence(ctx)
    return f"{_did(ctx, 'gave feedback')}: {said}" if said else f"{_did(ctx, 'acknowledged it')}."


@tool(read_only=True)
async def ask_user(
    ctx: Context,
    questions: Annotated[list[Question], Field(min_length=1, max_length=4)],
    message: str = "",
) -> str:
    """Ask the user one to four questions at once.

    Each has a header of at most 12 characters and two to four options. With `multi_select` the user
    may choose several of them, with `allow_other` write an answer of their own.
    """
    answers = await ctx.questions(message or questions[0].question, questions)
    if answers is None:
        return _silence(ctx)
    lines = (f"- {question} {_listed(answer)}" for question, answer in answers.items())
    return "\n".join([f"{_did(ctx, 'answered')}:", *lines])


TOOLS: dict[str, Tool] = {
    each.name: each
    for each in (
        ask_user,
        ask_user_choice,
        ask_user_confirm,
        ask_user_text,
        edit_document,
        present_for_review,
    )
}
"""By name."""


def _listed(answer: str | list[str]) -> str:
    return answer if isinstance(answer, str) else ", ".join(answer)


def _silence(ctx: Context) -> str:
    """That no answer came; a person who declined is told from nobody."""
    declined = ctx.outcome is InputState.DECLINED
    return f"{_did(ctx, 'declined to answer')}." if declined else NO_ANSWER


def _did(ctx: Context, what: str) -> str:
    """Who did it, and how long it waited. It stands first, where no answer can imitate it."""
    by = ctx.answered_by
    who = (by.name or by.id) if by else "The user"
    slow = ctx.waited is not None and ctx.waited >= timedelta(seconds=1)
    return f"{who} {what}" + (f" after {span(ctx.waited)}" if slow and ctx.waited else "")


def span(time: timedelta) -> str:
    """A span of time in its largest unit, such as `3 minutes`."""
    seconds = int(time.total_seconds())
    units: list[tuple[int, str]] = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")]
    size, unit = next((each for each in units if seconds >= each[0]), units[-1])
    count = seconds // size
    return f"{count} {unit}" + ("" if count == 1 else "s")

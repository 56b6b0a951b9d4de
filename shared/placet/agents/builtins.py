"""Tools that let the model ask a person by itself. Offered only where an agent lists them."""

from collections.abc import Mapping

from placet.agents.context import Context
from placet.agents.tool import Tool, tool

NO_ANSWER = "User provided no answer."


@tool(read_only=True)
async def ask_user_text(ctx: Context, question: str) -> str:
    """Ask the user a question and get a text back."""
    answer = await ctx.ask_text(question)
    return answer if answer and answer.strip() else NO_ANSWER


@tool(read_only=True)
async def ask_user_choice(ctx: Context, question: str, options: list[str]) -> str:
    """Ask the user to pick one of at least two options."""
    return await ctx.choose(question, options) or NO_ANSWER


@tool(read_only=True)
async def ask_user_confirm(ctx: Context, question: str) -> str:
    """Ask the user a yes/no question."""
    if await ctx.confirm(question):
        return "The user said yes."
    if ctx.outcome == "declined":
        return "The user said no."
    return "Nobody answered; that counts as no."


BUILTINS: Mapping[str, Tool] = {
    each.name: each for each in (ask_user_text, ask_user_choice, ask_user_confirm)
}

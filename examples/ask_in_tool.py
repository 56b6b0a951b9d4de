"""A tool that asks a person by itself: yes or no, one of several, a form.

`placet dev --agents examples/ask_in_tool.py`, then `placet run releases "Release 1.4"` and `placet respond`.
The model is a script, so that no key is needed.
"""

from placet import Agent, Context, ScriptedModel, tool
from placet.agents.scripted import calls, says, steps

TICKET = {
    "type": "object",
    "properties": {
        "ticket": {"type": "string", "minLength": 3},
        "notify": {"type": "boolean", "default": True},
    },
    "required": ["ticket"],
}


@tool(retry="safe")
async def release(ctx: Context, version: str) -> str:
    """Release a version."""
    # Each ask ends the call; with the answer the tool runs again from the top. So ask first, act last.
    if not await ctx.confirm(f"Release {version}?"):
        return f"{version} stays where it is: {ctx.outcome}"
    where = await ctx.choose("Where to?", ["staging", "production"])
    form = await ctx.ask("Under which ticket?", TICKET)
    if where is None or form is None:
        return "nobody said where to, or why"
    # From here on it acts. `retry="safe"` promises that a second run under this key does no harm.
    return f"{version} is on {where} for {form['ticket']} (key {ctx.idempotency_key})"


releases = Agent(
    "releases",
    instructions="You release software.",
    model=ScriptedModel(steps(calls(("release", {"version": "1.4"})), says("That is all."))),
    tools=[release],
)

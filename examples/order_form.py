"""A form from a model, with a field that only the tool reads, asked in the terminal.

`python examples/order_form.py` asks here. With `placet dev --agents examples/order_form.py` and
`placet run shop "A cake"` the same question waits in the inbox. The model is a script, so no key is needed.
"""

import asyncio
from typing import Literal

from pydantic import BaseModel, Field, SecretStr

from placet import Agent, CliInteractionHandler, Context, ScriptedModel, tool
from placet.agents.scripted import calls, says, steps


class Order(BaseModel):
    """What the form asks. A `SecretStr` is sealed: no store, log or model ever holds what was typed."""

    size: Literal["small", "large"]
    candles: int = Field(default=0, ge=0, le=120)
    voucher: SecretStr | None = None


@tool(retry="safe")
async def order_cake(ctx: Context) -> str:
    """Order a cake."""
    # The ask ends the call; with the answer the tool runs again from the top. So ask first, act last.
    order = await ctx.ask("Which cake?", Order)
    if order is None:
        return f"no cake: {ctx.outcome}"
    paid = "with a voucher" if order.voucher and order.voucher.get_secret_value() else "in cash"
    return (
        f"a {order.size} cake with {order.candles} candles, paid {paid} (key {ctx.idempotency_key})"
    )


shop = Agent(
    "shop",
    instructions="You sell cakes.",
    model=ScriptedModel(steps(calls(("order_cake", {})), says("Enjoy."))),
    tools=[order_cake],
)


async def main() -> None:
    """Sell one cake."""
    result = await shop.run("A cake", interaction_handler=CliInteractionHandler())
    for entry in result.journal:
        if entry.type == "tool.finished":
            print(entry.result.content)
    print(result.text)


if __name__ == "__main__":
    asyncio.run(main())

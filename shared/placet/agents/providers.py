"""Real models, through pydantic-ai's direct requests; its library is imported at the first call.

Retries are ours (the vendor SDKs are told to make none), and so is the loop.
"""

import asyncio
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from placet.agents.models import Conversation, Model
from placet.domain.digest import strict_json
from placet.domain.interaction import ToolCall
from placet.errors import DefinitionError, Invalid, ModelError
from placet.kernel.turns import (
    CallOutcome,
    CallResult,
    ModelReply,
    ModelTurn,
    ResultsTurn,
    Usage,
    UserTurn,
)

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as LibraryModel

TIMEOUT_SECONDS = 600
LONGEST_NAME = 200


def resolve_model(model: str | Model) -> Model:
    """A model from `provider:name`, or the object itself. Raises DefinitionError for neither."""
    if not isinstance(model, str):
        if not callable(getattr(model, "reply", None)):
            raise DefinitionError(f"model {model!r} has no `reply`; use 'provider:name' or a Model")
        return model
    if ":" not in model:
        raise DefinitionError(f"model {model!r}: write it as provider:name, such as openai:gpt-5")
    return ProviderModel(model)


class ProviderModel:
    """A provider's model by its name. Its key comes from the provider's own environment variable."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def reply(self, conversation: Conversation) -> ModelReply:
        """One request, one reply. Raises ModelError with the provider's message."""
        from pydantic_ai.direct import model_request  # noqa: PLC0415 - 1.1 s to import
        from pydantic_ai.exceptions import AgentRunError, UserError  # noqa: PLC0415
        from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415
        from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415

        tools = [
            ToolDefinition(name=t.name, description=t.description, parameters_json_schema=t.schema)
            for t in conversation.tools
        ]
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                response = await model_request(
                    self._library,
                    _messages(conversation),
                    model_request_parameters=ModelRequestParameters(
                        function_tools=tools, allow_text_output=True
                    ),
                )
        except TimeoutError as error:
            raise ModelError(
                f"{self.name} gave no reply in {TIMEOUT_SECONDS} s", transient=True
            ) from error
        except UserError as error:
            raise ModelError(f"{self.name}: {error}") from error
        except AgentRunError as error:
            raise ModelError(f"{self.name}: {error}", transient=_transient(error)) from error
        return _reply(response)

    @cached_property
    def _library(self) -> "LibraryModel":
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415
        from pydantic_ai.models import infer_model  # noqa: PLC0415

        try:
            model = infer_model(self.name)
        except (UserError, ValueError, ImportError) as error:
            raise ModelError(f"{self.name}: {error}") from error
        client: Any = getattr(model, "client", None)
        if hasattr(client, "max_retries"):
            client.max_retries = 0  # the vendor's own retries would multiply ours
        return model


def _transient(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    if status is not None:
        return status in (408, 409, 425, 429) or status >= 500
    return type(error).__name__ in (
        "ModelConnectionError",
        "ModelTimeoutError",
        "ModelUnavailableError",
    )


def _messages(conversation: Conversation) -> "list[ModelMessage]":
    from pydantic_ai.messages import (  # noqa: PLC0415
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    messages: list[ModelMessage] = []
    if conversation.instructions:
        messages.append(ModelRequest(parts=[SystemPromptPart(content=conversation.instructions)]))
    ids: dict[str, str] = {}
    for turn in conversation.turns:
        match turn:
            case UserTurn(text=text):
                messages.append(ModelRequest(parts=[UserPromptPart(content=text)]))
            case ModelTurn(reply=reply):
                stored = _stored(reply)
                if stored is None:
                    parts: list[Any] = [TextPart(content=reply.text)] if reply.text else []
                    parts += [
                        ToolCallPart(tool_name=c.tool, args=c.args, tool_call_id=c.id)
                        for c in reply.calls
                    ]
                    stored = ModelResponse(parts=parts)
                ids = {
                    c.id: p.tool_call_id
                    for c, p in zip(reply.calls, stored.tool_calls, strict=False)
                }
                messages.append(stored)
            case ResultsTurn(results=results):
                messages.append(
                    ModelRequest(
                        parts=[
                            ToolReturnPart(
                                tool_name=r.tool,
                                content=r.content,
                                tool_call_id=ids.get(r.call_id, r.call_id),
                            )
                            for r in results
                        ]
                    )
                )
    return messages


def _stored(reply: ModelReply) -> "ModelResponse | None":
    """The provider's own form of a turn; None where another model made it or it can't be read."""
    from pydantic import ValidationError  # noqa: PLC0415
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse  # noqa: PLC0415

    if reply.raw is None:
        return None
    try:
        (message,) = ModelMessagesTypeAdapter.validate_python([reply.raw])
    except ValidationError:
        return None
    return message if isinstance(message, ModelResponse) else None


def _reply(response: "ModelResponse") -> ModelReply:
    from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415

    calls: list[ToolCall] = []
    bad: list[CallResult] = []
    for number, part in enumerate(response.tool_calls):
        call_id = f"call_{number}"
        args, problem = _arguments(part.args)
        tool = part.tool_name
        if not 0 < len(tool) <= LONGEST_NAME:
            tool, args, problem = "unnamed", {}, f"a tool's name has 1 to {LONGEST_NAME} characters"
        calls.append(ToolCall(id=call_id, tool=tool, args=args))
        if problem:
            content = f"The call can't be read: {problem}"
            bad.append(
                CallResult(call_id=call_id, tool=tool, outcome=CallOutcome.ERROR, content=content)
            )
    return ModelReply(
        text=response.text or "",
        calls=tuple(calls),
        bad_calls=tuple(bad),
        raw=ModelMessagesTypeAdapter.dump_python([response], mode="json")[0],
        usage=Usage(
            input_tokens=response.usage.input_tokens or 0,
            output_tokens=response.usage.output_tokens or 0,
        ),
    )


def _arguments(raw: Any) -> tuple[dict[str, Any], str | None]:
    """A call's arguments as an object, or {} and why they can't be used."""
    try:
        value = (
            strict_json(raw or "{}") if isinstance(raw, str | None) else json.loads(json.dumps(raw))
        )
    except (Invalid, ValueError, TypeError) as error:
        return {}, str(error)
    if not isinstance(value, dict):
        return {}, "they are no object"
    try:
        return ToolCall(id="check", tool="check", args=value).args, None
    except (Invalid, ValueError) as error:
        return {}, str(error)

"""The problem document (RFC 9457): what REST replies with when it refuses, and the bus on `reply_to`."""

from pydantic import BaseModel, ConfigDict


class ProblemField(BaseModel):
    """One thing that does not fit."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    pointer: str
    """A JSON pointer into what was sent; empty for the whole."""
    detail: str


class ProblemDocument(BaseModel):
    """Why a request was refused. Further members may stand beside these, such as the settled `input`."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

    type: str
    """`urn:placet:problem:CODE`."""
    title: str
    status: int
    detail: str
    """A sentence that names the thing and the remedy."""
    code: str
    """Stable, for programs."""
    errors: tuple[ProblemField, ...] | None = None
    """Each field that does not fit."""

"""One example of each refusal of REST, by status."""

from placet.errors import (
    Changed,
    Conflict,
    FieldError,
    Invalid,
    NotAllowed,
    NotFound,
    PlacetError,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unconditional,
)
from placet.messages.examples import INPUT, RUN


def problems() -> dict[int, PlacetError]:
    """By status, what is refused with it."""
    fields = [FieldError("/email", '"no address" is not a "email"')]
    settled = {"input": {"id": INPUT, "state": "answered"}}
    return {
        400: Invalid("the form's fields do not fit", fields),
        401: Unauthenticated("the API key is unknown or revoked"),
        403: NotAllowed("this credential lacks the scope runs:write"),
        404: NotFound(f"no run {RUN!r}"),
        409: Conflict(f"{INPUT} is answered", code="settled", body=settled),
        412: Changed('it is "3.0f1e2d3c4b5a6978" by now, not "2.8a7b6c5d4e3f2a1b"; read it again'),
        413: TooLarge("a body has at most 1048576 bytes"),
        428: Unconditional("send If-Match with the ETag that a GET of it replied with"),
        503: Unavailable("MongoDB at db:27017 cannot be reached"),
    }

"""Golden examples of problem documents, made by the code that replies with them."""

from placet.errors import Conflict, FieldError, Invalid, NotFound, PlacetError, Unavailable
from placet.messages.examples import INPUT, RUN
from placet.messages.export import example_path
from placet.process.problems import of_error, problem

_FIELDS = [FieldError("/email", '"no address" is not a "email"'), FieldError("/sëats", "too many")]
_SETTLED = {"input": {"id": INPUT, "state": "answered"}}
_VOTED = "this yes is counted, 1 of the 2 that it takes"
_PENDING = {"input": {"id": INPUT, "state": "pending", "votes": [{"by": "alice"}]}}
CASES: dict[str, PlacetError] = {
    "invalid": Invalid("the form's fields do not fit", _FIELDS),
    "not_found": NotFound(f"there is no run {RUN}"),
    "settled": Conflict(f"{INPUT} is answered", code="settled", body=_SETTLED),
    "unavailable": Unavailable("MongoDB at db:27017 cannot be reached"),
}


def problem_examples() -> dict[str, bytes]:
    """By path in `contracts/`."""
    bodies = {case: bytes(of_error(error).body) for case, error in CASES.items()}
    # No error: what the bus replies with where REST says 202 with an input that is pending still.
    bodies["voted"] = bytes(problem(202, _VOTED, code="voted", extra=_PENDING).body)
    return {example_path("problem", case): body + b"\n" for case, body in bodies.items()}

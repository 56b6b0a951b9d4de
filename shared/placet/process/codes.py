"""Every `code` of a problem document that REST can reply with: stable, for programs to go by."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """What a code means: its status, and a sentence for the documentation."""

    status: int
    means: str


CODES: Mapping[str, Code] = {
    "invalid": Code(400, "it does not fit; `errors` lists each field"),
    "bad_definition": Code(400, "the definition fits its schema and describes no agent that works"),
    "bad_host": Code(400, "not one `Host` header, or none that is a name and a port"),
    "unauthenticated": Code(401, "no valid credential"),
    "not_allowed": Code(403, "the credential, or the person, may not do this"),
    "self_approval": Code(
        403, "four eyes: who started it, or stands in for them, can't approve it"
    ),
    "wrong_code": Code(403, "the one-time code of a link is wrong or too old"),
    "not_found": Code(404, "there is none in this namespace"),
    "method_not_allowed": Code(405, "the path is there, and not with this method"),
    "conflict": Code(409, "it has ended or changed meanwhile"),
    "settled": Code(409, "the input has settled otherwise; `input` says how"),
    "shown_differs": Code(409, "`digest` is of something else than what is asked; `input` has it"),
    "id_taken": Code(409, "the id belongs to another request"),
    "idempotency_conflict": Code(409, "the `Idempotency-Key` was used for another request"),
    "not_live": Code(409, "the run has ended; no agent accepted the message"),
    "not_root": Code(409, "the run is below another; talk to its root"),
    "full": Code(409, "the run has 32 unread messages"),
    "watched_otherwise": Code(409, "the run at work has another `unattended`"),
    "identity_taken": Code(409, "the identity on that channel is another person's"),
    "delegation_cycle": Code(409, "the delegation would close a circle"),
    "too_many_delegations": Code(409, "somebody has at most 20 delegates"),
    "too_many_acts": Code(409, "somebody has done too much with an input; it can still be settled"),
    "too_many_freezes": Code(409, "a namespace has at most 100 freezes that are active"),
    "link_dead": Code(409, "the link decides nothing any more; `input` says how it stands"),
    "in_a_file": Code(409, "a file of the operator's has a definition of that name"),
    "too_many_definitions": Code(409, "a namespace has at most 500 definitions"),
    "too_many_webhooks": Code(409, "a namespace has at most 16 webhooks"),
    "REPLAY_GAP": Code(409, "events behind that position are no longer kept"),
    "precondition_failed": Code(
        412, "it is not the version that `If-Match` or `If-None-Match` names"
    ),
    "too_large": Code(413, "more bytes than there may be"),
    "unsupported_media_type": Code(415, "not a media type that is read here"),
    "wrong_host": Code(421, "a `Host` that is not answered here"),
    "precondition_required": Code(428, "a change must send `If-Match`, or `If-None-Match: *`"),
    "error": Code(400, "whatever else the HTTP server refuses"),
    "internal": Code(500, "a bug; the log says what"),
    "unavailable": Code(
        503, "a server is away; nothing was accepted, try again after `Retry-After`"
    ),
    "queue_full": Code(503, "RabbitMQ takes no more for now; try again"),
    "unroutable": Code(503, "nothing is bound to what was published; the topology is not whole"),
}
"""By code. A row may be added; none changes its meaning or goes."""


def table() -> str:
    """The rows as Markdown, for docs/rest.md."""
    rows = [f"| `{name}` | {code.status} | {code.means} |" for name, code in CODES.items()]
    return "\n".join(["| code | status | |", "| --- | --- | --- |", *rows])

"""`placet keys`: credentials, over REST; the first ones of an installation in its database itself."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

from cyclopts import App, Parameter

from placet.cli.exits import Exit
from placet.cli.keystores import key_store
from placet.cli.output import notes, out, print_json
from placet.cli.runs import Json
from placet.errors import Invalid
from placet.process.caller import OPERATOR_SCOPES, PERSON_SCOPES, SERVICE_SCOPES

keys = App(
    name="keys", help="API keys: in the database, or at PLACET_URL where no database is named."
)
Namespace = Annotated[
    str | None, Parameter(help="Whose keys; at PLACET_URL it is the namespace of PLACET_KEY.")
]


def scopes_for(service: str | None, given: Sequence[str], *, operator: bool) -> frozenset[str]:
    """What a new key may do: what is said, else what its holder needs and no more."""
    usual = PERSON_SCOPES if service is None else SERVICE_SCOPES
    return frozenset(given or usual) | (OPERATOR_SCOPES if operator else frozenset())


def _end(days: float) -> datetime:
    if not 0 < days <= 3650:
        raise Invalid("--days: more than 0, at most 3650")
    return datetime.now(UTC) + timedelta(days=days)


@keys.command
async def create(
    name: str,
    *,
    person: Annotated[str | None, Parameter(help="The person whose key it is.")] = None,
    service: Annotated[str | None, Parameter(help="The service whose key it is.")] = None,
    scope: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="What it may do; a person's or a service's usual otherwise."),
    ] = (),
    operator: Annotated[
        bool, Parameter(negative="", help="And what an operator may: keys, webhooks, reviews.")
    ] = False,
    days: Annotated[float | None, Parameter(help="It ends by itself after so many days.")] = None,
    namespace: Namespace = None,
    json: Json = False,
) -> int:
    """Make a key. It is shown this once."""
    holder = {"name": name, "person": person, "service": service}
    scopes = sorted(scopes_for(service, scope, operator=operator))
    until = None if days is None else _end(days)
    async with key_store(namespace) as store:
        key, record = await store.create(holder, scopes, until)
    if json:
        print_json(record | {"key": key})
    else:
        out.print(key)
        notes.print(f"it may: {', '.join(record['scopes'])}")
        notes.print(f"[dim]{record['id']}: keep it, it is not shown again[/]")
    return Exit.OK


@keys.command
async def user(
    amqp_user: str,
    *,
    service: Annotated[str, Parameter(help="The service that connects as this AMQP user.")],
    scope: Annotated[
        tuple[str, ...], Parameter(negative="", help="What it may do; a service's usual otherwise.")
    ] = (),
    namespace: Namespace = None,
    json: Json = False,
) -> int:
    """Say which service an AMQP user is, so that its requests and answers are taken."""
    scopes = sorted(scopes_for(service, scope, operator=False))
    async with key_store(namespace) as store:
        record = await store.map_user(amqp_user, service, scopes)
    if json:
        print_json(record)
    else:
        notes.print(f"{amqp_user} is service:{service} in {record['namespace']}")
        notes.print(f"it may: {', '.join(record['scopes'])}")
    return Exit.OK


@keys.command(name="list")
async def list_(*, namespace: Namespace = None, json: Json = False) -> int:
    """List the keys of a namespace, without their secrets."""
    async with key_store(namespace) as store:
        found = await store.all()
    if json:
        print_json(found)
        return Exit.OK
    for record in found:
        holder = record["person"] or f"service:{record['service']}"
        state = "revoked" if record["revoked_at"] else "valid"
        out.print(
            f"{record['id']}  {record['name']}  {holder}  {state}  {' '.join(record['scopes'])}"
        )
    return Exit.OK


@keys.command
async def revoke(id: str, *, namespace: Namespace = None) -> int:
    """Make a key worthless at once."""
    async with key_store(namespace) as store:
        await store.revoke(id)
    notes.print(f"{id} is revoked")
    return Exit.OK

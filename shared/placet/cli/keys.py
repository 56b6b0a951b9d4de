"""`placet keys`: the first credentials of an installation, made by whoever has its database."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter

from placet.cli.exits import Exit
from placet.cli.output import notes, out, print_json
from placet.cli.runs import Json
from placet.errors import Unavailable
from placet.process.auth import OPERATOR_SCOPES, PERSON_SCOPES, SERVICE_SCOPES
from placet.process.platform import Platform, from_settings
from placet.process.settings import Settings, load

keys = App(name="keys", help="API keys, directly in the database (for the operator).")
Namespace = Annotated[str, Parameter(help="Whose keys.")]


async def _open() -> Platform:
    platform = from_settings(load(Settings))
    try:
        await platform.open()
    except Unavailable as error:
        await platform.close()
        if platform.settings.mongo_url is not None:
            raise
        raise Unavailable(
            f"{error}. While `placet dev` runs on {platform.settings.data}, use its REST API "
            "(/v1/keys) for that, or stop it first"
        ) from error
    return platform


def scopes_for(service: str | None, given: Sequence[str], *, operator: bool) -> frozenset[str]:
    """What a new key may do: what is said, else what its holder needs and no more."""
    usual = PERSON_SCOPES if service is None else SERVICE_SCOPES
    return frozenset(given or usual) | (OPERATOR_SCOPES if operator else frozenset())


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
    namespace: Namespace = "default",
    json: Json = False,
) -> int:
    """Make a key. It is shown this once."""
    platform = await _open()
    try:
        key, record = await platform.auth.create_key(
            namespace=namespace,
            name=name,
            person=person,
            service=service,
            scopes=scopes_for(service, scope, operator=operator),
        )
    finally:
        await platform.close()
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
    namespace: Namespace = "default",
    json: Json = False,
) -> int:
    """Say which service an AMQP user is, so that its requests and answers are taken."""
    platform = await _open()
    try:
        record = await platform.auth.map_amqp_user(
            amqp_user,
            namespace=namespace,
            service=service,
            scopes=scopes_for(service, scope, operator=False),
        )
    finally:
        await platform.close()
    if json:
        print_json(record)
    else:
        notes.print(f"{amqp_user} is service:{service} in {namespace}")
        notes.print(f"it may: {', '.join(record['scopes'])}")
    return Exit.OK


@keys.command(name="list")
async def list_(*, namespace: Namespace = "default", json: Json = False) -> int:
    """List the keys of a namespace, without their secrets."""
    platform = await _open()
    try:
        found = await platform.auth.list_keys(namespace)
    finally:
        await platform.close()
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
async def revoke(id: str, *, namespace: Namespace = "default") -> int:
    """Make a key worthless at once."""
    platform = await _open()
    try:
        await platform.auth.revoke_key(namespace, id)
    finally:
        await platform.close()
    notes.print(f"{id} is revoked")
    return Exit.OK

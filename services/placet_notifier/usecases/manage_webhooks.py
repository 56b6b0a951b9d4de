"""Webhook endpoints: make, list, rotate, delete; and their deliveries: list, send again."""

import secrets
from collections.abc import Callable, Sequence
from datetime import datetime

from placet.clock import Clock
from placet.errors import Conflict, NotFound
from placet.ids import new_id
from placet.process.idempotency import Once
from placet_notifier.ports import Deliveries, Endpoints, Poster
from placet_notifier.rules.delivery import Delivery, State
from placet_notifier.rules.endpoint import Endpoint, Secret
from placet_notifier.rules.signing import SECRET_BYTES, secret_of


class ManageWebhooks:
    """Everything by namespace: another's endpoint is not found."""

    def __init__(
        self,
        endpoints: Endpoints,
        deliveries: Deliveries,
        poster: Poster,
        clock: Clock,
        *,
        on_owed: Callable[[], None] = lambda: None,
    ) -> None:
        self._endpoints = endpoints
        self._deliveries = deliveries
        self._poster = poster
        self.clock = clock
        self._on_owed = on_owed

    async def create(
        self,
        namespace: str,
        by: str,
        url: str,
        types: Sequence[str],
        description: str,
        once: Once | None = None,
    ) -> tuple[Endpoint, bool]:
        """A new endpoint, whose only secret is to be shown this once, and True.

        Or the one that `once` says was made before, and False. Raises Invalid, Conflict.
        """
        self._poster.check(url)
        endpoint = Endpoint(
            id=once.named("whk") if once else new_id("whk"),
            namespace=namespace,
            url=url,
            types=tuple(sorted(types)),
            description=description,
            created_at=self.clock.now(),
            created_by=by,
            secrets=(Secret(_fresh()),),
            once=once.digest if once else None,
        )
        kept = await self._endpoints.add(endpoint)
        if once is not None and kept is not endpoint:
            once.check(kept.once)
        return kept, kept is endpoint

    async def list(self, namespace: str) -> list[Endpoint]:
        """All of a namespace, the oldest first."""
        return await self._endpoints.list(namespace)

    async def get(self, namespace: str, id: str) -> Endpoint:
        """One of them. Raises NotFound."""
        found = await self._endpoints.get(namespace, id)
        if found is None:
            raise NotFound(f"there is no webhook {id}")
        return found

    async def delete(self, namespace: str, id: str) -> None:
        """Delete it; what was still to be sent there is dropped. Raises NotFound."""
        if not await self._endpoints.remove(namespace, id):
            raise NotFound(f"there is no webhook {id}")

    async def rotate(self, namespace: str, id: str) -> Endpoint:
        """A new secret, shown this once; the one before signs too for a day.

        Raises NotFound; Conflict when somebody changed the endpoint at the same moment.
        """
        found = await self.get(namespace, id)
        rotated = found.rotated(_fresh(), self.clock.now())
        changed = await self._endpoints.set_secrets(found, rotated)
        if changed is None:
            raise Conflict(f"the webhook {id} was changed at this moment; try again")
        return changed

    async def deliveries(
        self,
        namespace: str,
        id: str,
        state: State | None,
        limit: int,
        after: tuple[datetime, str] | None = None,
    ) -> Sequence[Delivery]:
        """The deliveries of an endpoint, newest first, behind `after`. Raises NotFound."""
        found = await self.get(namespace, id)
        return await self._deliveries.newest(found.id, state=state, limit=limit, after=after)

    async def redeliver(self, namespace: str, id: str, delivery_id: str) -> Delivery:
        """Send it once more, under the same id. Raises NotFound; Conflict while it is being sent."""
        endpoint = await self.get(namespace, id)
        if not endpoint.enabled:
            raise Conflict(f"the webhook {id} is disabled: {endpoint.disabled_reason}")
        found = await self._deliveries.get(namespace, delivery_id)
        if found is None or found.endpoint_id != id:
            raise NotFound(f"there is no delivery {delivery_id} of the webhook {id}")
        again = await self._deliveries.again(found)
        if again is None:
            raise Conflict(f"the delivery {delivery_id} is being sent at this moment")
        self._on_owed()
        return again


def _fresh() -> str:
    return secret_of(secrets.token_bytes(SECRET_BYTES))

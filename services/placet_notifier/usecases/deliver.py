"""One try of one delivery: sign, send, record."""

import random
from datetime import timedelta

from placet.clock import Clock
from placet.process import logs
from placet.process.crash import crash_point
from placet_notifier.ports import Deliveries, Endpoints, Observer, Poster
from placet_notifier.rules.delivery import Answer, Delivery, State, Verdict, verdict
from placet_notifier.rules.endpoint import Endpoint
from placet_notifier.rules.signing import sign

_log = logs.get(__name__)
_GONE = "the receiver said that it is gone (410)"


class Deliver:
    """At least once: a crash between sending and recording sends again, under the same id."""

    def __init__(
        self,
        deliveries: Deliveries,
        endpoints: Endpoints,
        poster: Poster,
        clock: Clock,
        metrics: Observer,
    ) -> None:
        self._deliveries = deliveries
        self._endpoints = endpoints
        self._poster = poster
        self._clock = clock
        self._metrics = metrics

    async def __call__(self, delivery: Delivery) -> None:
        """Make the try that was claimed. Raises Unavailable: the database is away."""
        endpoint = await self._endpoints.get(delivery.namespace, delivery.endpoint_id)
        if endpoint is None or not endpoint.enabled:
            why = "was deleted" if endpoint is None else "is disabled"
            answer = Answer(error=f"the webhook {why}")
            await self._record(delivery, answer, Verdict(State.DROPPED))
            return
        answer = await self._send(delivery, endpoint)
        crash_point("webhook.sent")
        spread = random.random()  # noqa: S311 - spreads load, guards nothing
        decided = verdict(answer, delivery, self._clock.now(), spread)
        if decided.disable:
            await self._endpoints.disable(endpoint.namespace, endpoint.id, _GONE)
            _log.warning("webhook_disabled", webhook=endpoint.id, reason=_GONE)
        await self._record(delivery, answer, decided)

    async def _send(self, delivery: Delivery, endpoint: Endpoint) -> Answer:
        body = delivery.body.encode()
        now = self._clock.now()
        headers = sign(endpoint.signing(now), delivery.id, now, body)
        started = self._clock.monotonic()
        answer = await self._poster.post(
            endpoint.url, body=body, headers={"content-type": "application/json", **headers}
        )
        took = timedelta(seconds=self._clock.monotonic() - started)
        self._metrics.tried(answer.outcome, took)
        return answer

    async def _record(self, delivery: Delivery, answer: Answer, decided: Verdict) -> None:
        held = await self._deliveries.record(delivery, answer, decided)
        if held and decided.state is not State.PENDING:
            self._metrics.ended(decided.state.value)
        if not answer.accepted:
            _log.info(
                "webhook_not_delivered",
                delivery=delivery.id,
                webhook=delivery.endpoint_id,
                attempt=delivery.attempts,
                state=decided.state.value,
                reason=answer.error,
            )

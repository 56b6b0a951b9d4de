"""The guarded client as the notifier's poster."""

from collections.abc import Mapping
from datetime import timedelta

from placet.errors import PlacetError
from placet.process.guarded import GuardedClient
from placet_notifier.rules.delivery import Answer


class GuardedPoster:
    """Sends webhooks with `GuardedClient`; a failure of the receiver's becomes an answer."""

    def __init__(self, client: GuardedClient, *, within: timedelta) -> None:
        self._client = client
        self._within = within

    def check(self, url: str) -> None:
        """Raises Invalid for a URL that nothing can be sent to."""
        self._client.check(url)

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Answer:
        """One try and what it brought."""
        try:
            reply = await self._client.post(url, body=body, headers=headers, within=self._within)
        except PlacetError as error:
            return Answer(error=str(error))
        answer = Answer(reply.status, reply.headers.get("retry-after"))
        return (
            answer
            if answer.accepted
            else Answer(answer.status, answer.retry_after, f"status {reply.status}")
        )

"""The table says what the design says."""

import pytest

from placet.bus.hub import topic_fits
from placet.bus.topology import DEAD, PROBE, TOPOLOGY, Queue


def test_every_binding_names_an_exchange_of_the_table() -> None:
    exchanges = {exchange.name for exchange in TOPOLOGY.exchanges}
    bound = {queue.exchange for queue in TOPOLOGY.queues if queue.exchange}
    bound |= {private.exchange for private in TOPOLOGY.private if private.exchange}
    assert bound == exchanges


@pytest.mark.parametrize(
    "queue", [q for q in TOPOLOGY.queues if q.name not in (DEAD, PROBE)], ids=lambda q: q.name
)
def test_a_work_queue_refuses_when_full_and_keeps_what_failed(queue: Queue) -> None:
    arguments = queue.arguments()
    assert arguments["x-queue-type"] == "quorum"
    assert arguments["x-overflow"] == "reject-publish"
    assert arguments["x-dead-letter-strategy"] == "at-least-once"
    assert arguments["x-dead-letter-exchange"] == DEAD
    assert arguments["x-dead-letter-routing-key"] == queue.name
    assert int(arguments["x-max-length"]) > 0
    assert int(arguments["x-delivery-limit"]) > 0


def test_looking_at_dead_letters_does_not_use_them_up() -> None:
    dead = TOPOLOGY.queue(DEAD)
    assert dead is not None
    assert dead.delivery_limit >= 100_000


def test_only_events_and_control_may_reach_nobody() -> None:
    assert not TOPOLOGY.mandatory("placet.events")
    assert not TOPOLOGY.mandatory("placet.control")
    for exchange in ("", "placet.runs", "placet.requests", "placet.resolutions", "no.such"):
        assert TOPOLOGY.mandatory(exchange)


@pytest.mark.parametrize(
    ("pattern", "key", "fits"),
    [
        ("#", "a", True),
        ("#", "a.b.c", True),
        ("*.run.completed", "ns.run.completed", True),
        ("*.run.completed", "a.b.run.completed", False),
        ("*.run.completed", "run.completed", False),
        ("#.completed", "completed", True),
        ("a.#.z", "a.z", True),
        ("a.#.z", "a.b.c.z", True),
        ("a.*", "a", False),
        ("a.b", "a.b", True),
        ("a.b", "a.c", False),
    ],
)
def test_a_topic_pattern_covers_what_rabbitmq_says(pattern: str, key: str, fits: bool) -> None:
    assert topic_fits(pattern, key) is fits

"""The figures that take turns on the services, at a size that says nothing about speed."""

import dataclasses
from pathlib import Path

from benchmarks import growth, history
from benchmarks.__main__ import parsed
from benchmarks.figures import Figure, Report
from benchmarks.servers import Servers
from benchmarks.session import Session, installation
from placet.messages.users import RUNNER_USER

MANY = 2000


async def test_growth_figures_come_from_runs_that_all_went_well(
    mongo_url: str, amqp_urls: dict[str, str], tmp_path: Path
) -> None:
    options, _, _ = parsed(["--quick"])
    amqp_url = amqp_urls[RUNNER_USER].replace(RUNNER_USER, "{user}")
    place, report = Servers(mongo_url, amqp_url, {}, tmp_path), Report()
    small = Session(dataclasses.replace(options, crowd=MANY, rounds=1), place, report, top=15.0)
    try:
        async with installation(place) as (placet, target):
            await growth.measure(small, target, placet.prefix, few=5, seconds=1.0)
            await history.measure(small, target, placet.prefix, entries=120, answers=2)
    finally:
        place.drop_databases()
    assert report.problems == []
    shown = {figure.name: figure for figure in report.figures}
    assert shown["resume_growth"].detail["suspended"] == {"few": 5, "many": MANY}
    assert shown["resume_growth"].value > 0
    assert 0 < shown["resume_growth"].detail["most_examined_by_a_statement"] < MANY / 10
    reads_all_and_writes_as_little(shown["history_growth"])


def reads_all_and_writes_as_little(figure: Figure) -> None:
    """The sizes are the same on every machine; the times are not looked at."""
    detail = figure.detail
    assert detail["long"]["entries"] > 2 * detail["short"]["entries"] > 80
    written = detail["history_write_bytes"]
    assert written["short"] > 0
    assert written["long"] <= history.WRITES_GROW * written["short"]

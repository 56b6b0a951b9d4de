"""What every `placet.store` must do, as cases to run against a new one.

Each case is an asynchronous function that takes an open `Database` on which `declare` was called
before `open`, and raises `AssertionError` if a promise of `placet.store.port` does not hold. Cases
make documents with fresh ids, so one database serves all of them. `CASES` lists them:

    @pytest.mark.parametrize("case", store_cases.CASES)
    async def test_my_store(case, database):
        await case(database)
"""

# ruff: noqa: S101 - cases assert, and the numbers are theirs

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from placet.errors import Conflict, TooLarge
from placet.ids import new_id
from placet.store.port import BadStatement, Collection, Database, Document, Index

Case = Callable[[Database], Awaitable[None]]

LEASE = 30_000
"""Milliseconds that a claim of these cases lasts."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LIVE = ["queued", "running", "input_required"]


def declare(database: Database) -> None:
    """Declare the collections that the cases use; call it before `database.open`."""
    database.collection("runs", [Index((("due", 1),), sparse=True), Index((("status", 1),))])
    database.collection("keys", [Index((("key", 1),), unique=True, sparse=True)])


def a_run(**fields: Any) -> Document:
    """Return a queued run with a fresh id."""
    empty: Document = {"journal": [], "waiting": [], "inbox": [], "seen": [], "outbox": []}
    run = {"_id": new_id("run"), "status": "queued", "epoch": 0, "seq": 0, "lease": None}
    return {**run, "wake": False, **empty, "due": None, **fields}


async def _stored(database: Database, **fields: Any) -> tuple[Collection, Document]:
    runs, run = database.collection("runs"), a_run(**fields)
    assert await runs.insert(run), "a fresh id was refused"
    return runs, run


def _waiting(*ids: str) -> list[Document]:
    return [{"id": id, "call": {"tool": "pay"}, "resolution": None, "closing": None} for id in ids]


# The rows of the protocol that are pipelines, as the runner sends them.

FREE: Document = {"$lt": [{"$ifNull": ["$lease.until", EPOCH]}, "$$NOW"]}


def settled(but: str | None = None) -> Document:
    """Return the expression "no entry of `waiting` is open", not counting the entry `but`."""
    is_open: Document = {"$eq": ["$$this.resolution", None]}
    if but is not None:
        is_open = {"$and": [is_open, {"$ne": ["$$this.id", {"$literal": but}]}]}
    return {"$eq": [{"$size": {"$filter": {"input": "$waiting", "cond": is_open}}}, 0]}


def claim(op: str, owner: str = "a") -> tuple[Document, list[Document]]:
    """Return filter and update of a claim (R2)."""
    can_go = {"$or": [{"$in": ["$status", ["queued", "running"]]}, "$wake", settled()]}
    where = {"status": {"$in": LIVE}, "$expr": {"$and": [FREE, can_go]}}
    return where, [{"$set": _claimed(op, owner)}]


def _claimed(op: str, owner: str) -> Document:
    until = {"$add": ["$$NOW", LEASE]}
    lease = {"owner": {"$literal": owner}, "op": {"$literal": op}, "until": until}
    return {
        "status": "running",
        "epoch": {"$add": ["$epoch", 1]},
        "wake": False,
        "lease": lease,
    }


def record(id: str, answer: Any) -> tuple[Document, list[Document]]:
    """Return filter and update that record an answer without resuming the run (R8)."""
    where = {
        "status": {"$in": LIVE},
        "waiting": {"$elemMatch": {"id": id, "resolution": None}},
    }
    answered = {"$mergeObjects": ["$$this", {"resolution": {"$literal": answer}}]}
    entry = {"$cond": [{"$eq": ["$$this.id", {"$literal": id}]}, answered, "$$this"]}
    wake = {"$literal": [{"id": f"wake-{id}"}]}
    due = {"$and": [FREE, settled(id)]}
    outbox = {"$cond": [due, {"$concatArrays": ["$outbox", wake]}, "$outbox"]}
    change = {
        "waiting": {"$map": {"input": "$waiting", "in": entry}},
        "wake": {"$or": ["$wake", {"$ne": ["$lease", None]}, settled(id)]},
        "outbox": outbox,
    }
    return where, [{"$set": change}]


def resume(image: Document, id: str, op: str, entries: list[Any]) -> tuple[Any, list[Document]]:
    """Return filter and update that claim, record and begin in one write (R9)."""
    where = {
        "status": "input_required",
        "epoch": image["epoch"],
        "seq": image["seq"],
        "waiting": {"$elemMatch": {"id": id, "resolution": None}},
        "$expr": FREE,
    }
    more = {
        "seq": {"$add": ["$seq", len(entries)]},
        "journal": {"$concatArrays": ["$journal", {"$literal": entries}]},
        "waiting": [],
    }
    return where, [{"$set": {**_claimed(op, "a"), **more}}]


async def a_document_comes_back_as_it_was_stored(database: Database) -> None:
    """Nesting, types and time zones survive; datetimes keep their milliseconds."""
    runs = database.collection("runs")
    moment = datetime(2026, 3, 4, 5, 6, 7, 891_999, tzinfo=UTC)
    run = a_run(due=moment, data={"n": 1, "x": 1.5, "t": True, "z": None, "l": [{}, "€", b"\0"]})
    assert await runs.insert(run)
    kept = {**run, "due": moment.replace(microsecond=891_000)}
    found = await runs.get(run["_id"])
    assert found == kept
    assert found["due"].utcoffset() == timedelta(0)
    assert await runs.get(new_id("run")) is None


async def an_id_is_taken_once(database: Database) -> None:
    """Of inserts with one `_id` at the same time exactly one succeeds."""
    runs, run = database.collection("runs"), a_run()
    results = await asyncio.gather(*(runs.insert({**run, "seq": n}) for n in range(20)))
    assert sorted(results) == [False] * 19 + [True]
    stored = await runs.get(run["_id"])
    assert stored is not None
    assert stored["seq"] == results.index(True)


async def a_unique_key_is_taken_once(database: Database) -> None:
    """A unique key refuses inserts and updates; documents without it do not take part."""
    keys, key = database.collection("keys"), new_id("key")
    first, second, third = (new_id("doc") for _ in range(3))
    assert await keys.insert({"_id": first, "key": key})
    assert not await keys.insert({"_id": second, "key": key})
    assert await keys.insert({"_id": second})
    assert await keys.insert({"_id": third, "key": None})
    try:
        await keys.update(second, {}, {"$set": {"key": key}})
    except Conflict:
        return
    raise AssertionError("an update took a key that another document has")


async def one_claim_of_fifty_wins(database: Database) -> None:
    """Of claims at the same time one gets the lease; the others match nothing."""
    runs, run = await _stored(database)
    claims = [claim(f"op{n}") for n in range(50)]
    images = await asyncio.gather(*(runs.update(run["_id"], *each) for each in claims))
    won = [(n, image) for n, image in enumerate(images) if image is not None]
    assert len(won) == 1
    n, image = won[0]
    assert image["lease"]["op"] == f"op{n}"
    assert (image["epoch"], image["status"]) == (1, "running")
    left = image["lease"]["until"] - await database.now()
    assert timedelta(seconds=25) < left <= timedelta(milliseconds=LEASE)


async def one_write_of_fifty_fits_a_sequence_number(database: Database) -> None:
    """Each sequence number is used once, whatever races for it."""
    runs, run = await _stored(database)
    for seq in range(5):
        change = {"$inc": {"seq": 1}, "$push": {"journal": {"at": seq}}}
        writes = [runs.update(run["_id"], {"seq": seq}, change) for _ in range(50)]
        images = [image for image in await asyncio.gather(*writes) if image is not None]
        assert [image["seq"] for image in images] == [seq + 1]
    stored = await runs.get(run["_id"])
    assert stored is not None
    assert [entry["at"] for entry in stored["journal"]] == list(range(5))


async def a_lease_that_ran_out_is_claimed_again(database: Database) -> None:
    """`$$NOW` decides: a live lease refuses, one in the past does not."""
    past = {"owner": "b", "op": "old", "until": await database.now() - timedelta(seconds=1)}
    runs, run = await _stored(database, status="running", epoch=3, lease=past)
    first = await runs.update(run["_id"], *claim("new"))
    assert first is not None
    assert (first["epoch"], first["lease"]["op"], first["lease"]["owner"]) == (4, "new", "a")
    assert await runs.update(run["_id"], *claim("newer")) is None


async def the_last_of_two_answers_wakes_a_parked_run(database: Database) -> None:
    """R8: the first answer wakes nobody; the second sets `wake` and fills the outbox, once."""
    runs, run = await _stored(database, status="input_required", waiting=_waiting("w1", "w2"))
    images = await asyncio.gather(
        *(runs.update(run["_id"], *record(id, {"state": "accepted"})) for id in ("w1", "w2"))
    )
    assert all(image is not None for image in images)
    stored = await runs.get(run["_id"])
    assert stored is not None
    assert stored["wake"] is True
    assert len(stored["outbox"]) == 1
    assert all(each["resolution"] == {"state": "accepted"} for each in stored["waiting"])
    assert await runs.update(run["_id"], *record("w1", {"state": "declined"})) is None


async def an_answer_to_a_held_run_sets_wake_only(database: Database) -> None:
    """R8 while the lease lives: `wake`, and nothing in the outbox."""
    lease = {"owner": "b", "op": "x", "until": await database.now() + timedelta(seconds=30)}
    runs, run = await _stored(database, status="running", lease=lease, waiting=_waiting("w1"))
    image = await runs.update(run["_id"], *record("w1", {"state": "accepted"}))
    assert image is not None
    assert (image["wake"], image["outbox"]) == (True, [])


async def one_resume_of_many_wins(database: Database) -> None:
    """R9 is pinned to the image: claim, answer and intent happen once."""
    runs, run = await _stored(database, status="input_required", seq=7, waiting=_waiting("w1"))
    entries = [{"type": "input.resolved"}, {"type": "tool.started", "op": "x"}]
    writes = [resume(run, "w1", f"op{n}", entries) for n in range(20)]
    images = await asyncio.gather(*(runs.update(run["_id"], *each) for each in writes))
    won = [image for image in images if image is not None]
    assert len(won) == 1
    assert (won[0]["seq"], won[0]["journal"], won[0]["waiting"]) == (9, entries, [])
    assert won[0]["status"] == "running"


async def a_value_that_looks_like_a_field_stays_a_value(database: Database) -> None:
    """`$literal` keeps what a user typed: "$lease" is no path, "$$NOW" no time."""
    typed = {"text": "$lease", "more": ["$$NOW", {"$add": [1, 2]}]}
    runs, run = await _stored(database, status="input_required", waiting=_waiting("w1"))
    image = await runs.update(run["_id"], *record("w1", typed))
    assert image is not None
    assert image["waiting"][0]["resolution"] == typed
    assert await runs.update(run["_id"], {"status": "$lease"}, {"$set": {"seq": 9}}) is None


async def a_miss_in_a_batch_is_told_to_the_one_that_missed(database: Database) -> None:
    """Writes that go together are judged one by one, in their own order for each document."""
    runs = database.collection("runs")
    made = [a_run(seq=n % 2) for n in range(100)]
    assert all(await asyncio.gather(*(runs.insert(run) for run in made)))
    change = {"$inc": {"seq": 10}, "$set": {"status": "running"}}
    writes = [runs.update(run["_id"], {"seq": 0}, change) for run in made]
    images = await asyncio.gather(*writes)
    for run, image in zip(made, images, strict=True):
        if run["seq"] == 1:
            assert image is None
        else:
            assert image == {**run, "seq": 10, "status": "running"}
    stored = await runs.get_many([run["_id"] for run in made])
    assert sorted(each["seq"] for each in stored.values()) == [1] * 50 + [10] * 50


async def a_bad_write_harms_no_other(database: Database) -> None:
    """A write that is refused raises for its caller alone and changes nothing."""
    runs = database.collection("runs")
    made = [a_run() for _ in range(9)]
    await asyncio.gather(*(runs.insert(run) for run in made))
    good, bad = {"$inc": {"seq": 1}}, {"$inc": {"status": 1}}
    results = await asyncio.gather(
        *(runs.update(run["_id"], {}, bad if n == 4 else good) for n, run in enumerate(made)),
        return_exceptions=True,
    )
    assert isinstance(results.pop(4), BadStatement)
    assert all(isinstance(each, dict) and each["seq"] == 1 for each in results)
    assert await runs.get(made[4]["_id"]) == made[4]


async def a_document_over_the_limit_is_refused(database: Database) -> None:
    """Over 16 MiB an insert and an update raise `TooLarge` and leave the document as it was."""
    runs, run = await _stored(database)
    half = "x" * (9 * 1024 * 1024)
    writes: list[Callable[[], Awaitable[Any]]] = [
        lambda: runs.insert(a_run(data=half + half)),
        lambda: runs.update(run["_id"], {}, {"$set": {"c": half + half}}),
        lambda: runs.update(run["_id"], {}, {"$push": {"journal": {"$each": [half, half]}}}),
    ]
    for write in writes:
        try:
            await write()
        except TooLarge:
            continue
        raise AssertionError("a document over 16 MiB was taken")
    assert await runs.update(run["_id"], {}, {"$set": {"a": half}}) is not None
    try:
        await runs.update(run["_id"], {}, {"$set": {"b": half}})
    except TooLarge:
        assert "b" not in (await runs.get(run["_id"]) or {"b": None})
        return
    raise AssertionError("a document grew over 16 MiB")


async def a_clear_loses_no_entry_that_came_meanwhile(database: Database) -> None:
    """Clearing by ids while others push takes away those ids and no more."""
    runs, run = await _stored(database)
    id = run["_id"]

    async def push(n: int) -> None:
        await runs.update(id, {}, {"$push": {"outbox": {"id": f"m{n}"}}})
        if n % 2 == 0:
            await runs.clear(id, {"$pull": {"outbox": {"id": {"$in": [f"m{n}"]}}}})

    await asyncio.gather(*(push(n) for n in range(40)))
    odd = {f"m{n}" for n in range(1, 40, 2)}
    left: set[str] = set()
    for _ in range(200):
        left = {each["id"] for each in (await runs.get(id) or {})["outbox"]}
        assert odd <= left, f"lost: {odd - left}"
        if left == odd:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"not cleared: {left - odd}")


async def a_cancelled_caller_takes_no_other_with_it(database: Database) -> None:
    """Cancelling one caller of a batch leaves the rest of it, and the store, unharmed."""
    runs = database.collection("runs")
    made = [a_run() for _ in range(30)]
    await asyncio.gather(*(runs.insert(run) for run in made))
    tasks = [
        asyncio.create_task(runs.update(run["_id"], {"seq": 0}, {"$inc": {"seq": 1}}))
        for run in made
    ]
    await asyncio.sleep(0)
    for task in tasks[::3]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for n, result in enumerate(results):
        assert isinstance(result, dict | asyncio.CancelledError), result
        assert n % 3 == 0 or isinstance(result, dict)
    stored = await runs.get_many(run["_id"] for run in made)
    assert all(stored[run["_id"]]["seq"] == 1 for n, run in enumerate(made) if n % 3)
    assert await runs.update(made[0]["_id"], {}, {"$set": {"seq": 5}}) is not None


async def a_query_finds_sorts_and_limits(database: Database) -> None:
    """`find` and `count` respect the filter, the order, the limit and the fields asked for."""
    runs, mark = database.collection("runs"), new_id("mark")
    now = await database.now()
    for n in range(20):
        due = None if n % 4 == 0 else now + timedelta(seconds=10 - n)
        await runs.insert(a_run(mark=mark, seq=n, due=due, lease={"op": f"o{n}", "n": n}))
    where = {"mark": mark, "due": {"$lte": now}}
    found = await runs.find(where, sort=[("due", 1)], limit=3, fields=["seq", "lease.op"])
    assert [each["seq"] for each in found] == [19, 18, 17]
    assert set(found[0]) == {"_id", "seq", "lease"}
    assert found[0]["lease"] == {"op": "o19"}
    for index in ("due", "status"):
        by = await runs.find({**where, "status": "queued"}, sort=[("due", 1)], limit=3, by=index)
        assert [each["seq"] for each in by] == [19, 18, 17]
    try:
        await runs.find(where, by="seq")
    except BadStatement:
        pass
    else:
        raise AssertionError("an index that is not there was used")
    assert await runs.count(where, limit=100) == 8
    assert await runs.count(where, limit=2) == 2
    by_seq = await runs.find({"mark": mark, "due": None}, sort=[("seq", -1)])
    assert [each["seq"] for each in by_seq] == [16, 12, 8, 4, 0]
    either = {"mark": mark, "$or": [{"seq": 3}, {"lease.n": {"$in": [5, 6]}}]}
    assert sorted(each["seq"] for each in await runs.find(either)) == [3, 5, 6]


async def an_indexed_field_may_hold_arrays(database: Database) -> None:
    """A query on an indexed field matches elements of arrays too."""
    runs, mark = database.collection("runs"), new_id("mark")
    await runs.insert(a_run(mark=mark, status=["queued", "odd"]))
    await runs.insert(a_run(mark=mark, status="odd"))
    assert await runs.count({"mark": mark, "status": "odd"}, limit=9) == 2


async def a_delete_has_a_condition(database: Database) -> None:
    """Only a document that matches is deleted; deleting it again does nothing."""
    runs, run = await _stored(database)
    assert not await runs.delete(run["_id"], {"seq": 1})
    assert await runs.delete(run["_id"], {"seq": 0})
    assert not await runs.delete(run["_id"], {})
    assert await runs.get(run["_id"]) is None


async def an_image_belongs_to_its_caller(database: Database) -> None:
    """What a caller does to a document that it was given changes nothing but that copy."""
    runs, run = await _stored(database)
    first, second = await asyncio.gather(runs.get(run["_id"]), runs.get(run["_id"]))
    assert first is not None
    first["outbox"].append("mine")
    assert second == run
    entry = {"type": "x"}
    image = await runs.update(run["_id"], {}, {"$push": {"journal": entry}})
    entry["type"] = "changed"
    assert image is not None
    image["journal"].clear()
    stored = await runs.get(run["_id"])
    assert stored is not None
    assert stored["journal"] == [{"type": "x"}]


async def a_transaction_changes_all_or_none(database: Database) -> None:
    """One that misses, or that can't be changed, leaves every other as it was."""
    runs = database.collection("runs")
    made = sorted([a_run() for _ in range(5)], key=lambda run: run["_id"])
    await asyncio.gather(*(runs.insert(run) for run in made))
    change = {"$inc": {"seq": 1}, "$set": {"status": "running", "due": [EPOCH]}}
    ids = [run["_id"] for run in made]
    misses = await runs.update_all([(id, {"seq": 0 if id != ids[3] else 9}, change) for id in ids])
    assert [image is None for image in misses] == [False, False, False, True, False]
    assert list((await runs.get_many(ids)).values()) == made
    missing = await runs.update_all([(ids[0], {}, change), (new_id("run"), {}, change)])
    assert missing[1] is None
    try:
        await runs.update_all([(ids[0], {}, change), (ids[1], {}, {"$inc": {"status": 1}})])
    except BadStatement:
        pass
    else:
        raise AssertionError("a bad statement was taken in a transaction")
    assert list((await runs.get_many(ids)).values()) == made
    pipeline = [{"$set": {"seq": {"$add": ["$seq", 1]}, "due": "$$NOW"}}]
    images = await runs.update_all([(id, {"seq": 0}, pipeline) for id in ids])
    assert images == list((await runs.get_many(ids)).values())
    assert [image["seq"] for image in images if image is not None] == [1] * 5


async def one_transaction_of_many_wins(database: Database) -> None:
    """Transactions and single writes that want the same documents: each document changes once."""
    runs = database.collection("runs")
    made = sorted([a_run() for _ in range(4)], key=lambda run: run["_id"])
    await asyncio.gather(*(runs.insert(run) for run in made))
    ids = [run["_id"] for run in made]

    async def changed(wanted: list[str]) -> set[str]:
        images = await runs.update_all([(id, {"seq": 0}, {"$inc": {"seq": 1}}) for id in wanted])
        return set() if None in images else set(wanted)

    async def alone(id: str) -> set[str]:
        return {id} if await runs.update(id, {"seq": 0}, {"$inc": {"seq": 1}}) else set()

    racing = [changed(ids[n % 2 :: 2]) for n in range(8)]
    won = await asyncio.gather(*racing, changed(ids), alone(ids[2]), alone(ids[3]))
    told = [id for each in won for id in each]
    stored = await runs.get_many(ids)
    assert {id: stored[id]["seq"] for id in ids} == {id: told.count(id) for id in ids}
    assert set(told) >= set(ids[2:]), "nobody changed a document that all wanted"
    assert len(told) == len(set(told)), "two changed one document"


CASES: tuple[Case, ...] = (
    a_document_comes_back_as_it_was_stored,
    an_id_is_taken_once,
    a_unique_key_is_taken_once,
    one_claim_of_fifty_wins,
    one_write_of_fifty_fits_a_sequence_number,
    a_lease_that_ran_out_is_claimed_again,
    the_last_of_two_answers_wakes_a_parked_run,
    an_answer_to_a_held_run_sets_wake_only,
    one_resume_of_many_wins,
    a_value_that_looks_like_a_field_stays_a_value,
    a_miss_in_a_batch_is_told_to_the_one_that_missed,
    a_bad_write_harms_no_other,
    a_document_over_the_limit_is_refused,
    a_clear_loses_no_entry_that_came_meanwhile,
    a_cancelled_caller_takes_no_other_with_it,
    a_query_finds_sorts_and_limits,
    an_indexed_field_may_hold_arrays,
    a_delete_has_a_condition,
    an_image_belongs_to_its_caller,
    a_transaction_changes_all_or_none,
    one_transaction_of_many_wins,
)

"""Filters, updates and pipelines of the subset, and documents to try them on; drawn by seed."""

import random
from datetime import UTC, datetime
from typing import Any

T0 = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
T1 = datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)

SCALARS: list[Any] = [None, 0, 1, 2, -1, 1.0, 2.5, "", "a", "b", "$a", True, False, T0, T1, b"x"]
VALUES: list[Any] = [
    *SCALARS,
    [],
    [1],
    [1, 2, "a"],
    [None],
    [[1]],
    {},
    {"b": 1},
    {"b": None},
    {"b": 1, "c": 2},
    {"c": 2, "b": 1},
    {"b": [1, 2]},
    [{"b": 1}, {"b": 2}],
    [{"b": 1}, {"c": 2}],
    [{"b": None}, 1],
    [{"b": [1, 2]}, {"b": {"c": 1}}],
    {"b": {"c": T0}},
    [{"id": "w1", "r": None}, {"id": "w2", "r": {"x": "y"}}],
    [{"id": "w1", "r": None}],
]
FIELDS = ["a", "a.b", "a.b.c", "d", "e.f"]


def document(rng: random.Random) -> dict[str, Any]:
    """Return a document without `_id`; some fields are missing."""
    made = {name: rng.choice(VALUES) for name in ("a", "d", "e") if rng.random() < 0.8}
    return made | ({"e": {"f": rng.choice(VALUES)}} if rng.random() < 0.3 else {})


def condition(rng: random.Random) -> Any:
    """Return what a field must meet: a value or operators."""
    comparable = [each for each in SCALARS if each is not None]
    match rng.randrange(10):
        case 0 | 1:
            return rng.choice(VALUES)
        case 2:
            return {rng.choice(["$eq", "$ne"]): rng.choice(VALUES)}
        case 3:
            return {rng.choice(["$in", "$nin"]): rng.choices(VALUES, k=rng.randrange(4))}
        case 4 | 5:
            return {rng.choice(["$lt", "$lte", "$gt", "$gte"]): rng.choice(comparable)}
        case 6:
            return {"$exists": rng.random() < 0.5}
        case 7:
            return {"$size": rng.randrange(4)}
        case 8:
            return {"$not": {rng.choice(["$lt", "$eq", "$gte"]): rng.choice(comparable)}}
        case _:
            return {"$elemMatch": element(rng)}


def element(rng: random.Random) -> Any:
    """Return a filter for an element of an array."""
    if rng.random() < 0.3:
        return {rng.choice(["$eq", "$gt", "$lte"]): rng.choice([1, 2, "a"])}
    fields = rng.sample(["b", "c", "id", "r"], k=rng.randrange(1, 3))
    return {name: rng.choice([1, 2, None, "w1", {"$ne": None}, {"$gt": 1}]) for name in fields}


def where(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    """Return a filter."""
    kind = rng.random()
    if depth < 2 and kind < 0.2:
        branches = [where(rng, depth + 1) for _ in range(rng.randrange(1, 3))]
        return {rng.choice(["$and", "$or"]): branches}
    if kind < 0.45:
        return {"$expr": expression(rng)}
    fields = rng.sample(FIELDS, k=rng.randrange(1, 3))
    return {name: condition(rng) for name in fields}


def operand(rng: random.Random) -> Any:
    """Return a field, a variable or a literal."""
    if rng.random() < 0.6:
        return f"${rng.choice([*FIELDS, 'a.id', 'missing'])}"
    return rng.choice([{"$literal": rng.choice(VALUES)}, "$$NOW", "$$REMOVE", 1, "a", None, True])


def array(rng: random.Random) -> Any:
    """Return something that is often an array."""
    return rng.choice(["$a", "$d", {"$ifNull": ["$a", []]}, {"$literal": [1, None, {"b": 1}]}])


def expression(rng: random.Random, depth: int = 0) -> Any:
    """Return an expression, with operands that often have the wrong type."""
    if depth > 2 or rng.random() < 0.15:
        return operand(rng)
    more = [expression(rng, depth + 1) for _ in range(3)]
    shape = rng.choice([comparison, logic, arithmetic, choice, listing, element_of])
    return shape(rng, more)


def comparison(rng: random.Random, more: list[Any]) -> Any:
    """Return a comparison, the commonest expression."""
    return {rng.choice(["$eq", "$ne", "$lt", "$lte", "$gt", "$gte"]): more[:2]}


def logic(rng: random.Random, more: list[Any]) -> Any:
    """Return a logical operator."""
    if rng.random() < 0.3:
        return {"$not": [more[0]]}
    return {rng.choice(["$and", "$or"]): more[: rng.randrange(4)]}


def arithmetic(rng: random.Random, more: list[Any]) -> Any:
    """Return an operator over values of one type."""
    if rng.random() < 0.3:
        return {"$subtract": more[:2]}
    return {rng.choice(["$add", "$min", "$max", "$concatArrays", "$mergeObjects"]): more}


def choice(rng: random.Random, more: list[Any]) -> Any:
    """Return an operator that evaluates some of its operands."""
    named = {"if": more[0], "then": more[1], "else": more[2]}
    few = more[: rng.randrange(2, 4)]
    return rng.choice([{"$cond": more}, {"$cond": named}, {"$ifNull": few}])


def listing(rng: random.Random, more: list[Any]) -> Any:
    """Return an operator that makes an array."""
    cond = {rng.choice(["$eq", "$gt"]): [rng.choice(["$$this", "$$this.b"]), more[0]]}
    inside = rng.choice(["$$x", "$$x.b", {"k": "$$x.b", "l": more[0]}, more[1]])
    gather = {"$concatArrays": ["$$value", [{"$ifNull": ["$$this.b", 0]}]]}
    return rng.choice(
        [
            {"$filter": {"input": array(rng), "cond": cond}},
            {"$map": {"input": array(rng), "as": "x", "in": inside}},
            {"$reduce": {"input": array(rng), "initialValue": [], "in": gather}},
            {"$slice": [array(rng), *rng.choices([1, 2, -1, 3], k=rng.randrange(1, 3))]},
        ]
    )


def element_of(rng: random.Random, more: list[Any]) -> Any:
    """Return an operator that looks into an array."""
    at = rng.choice([0, 1, -1, 7])
    return rng.choice(
        [
            {"$size": array(rng)},
            {"$in": [more[0], array(rng)]},
            {"$arrayElemAt": [array(rng), at]},
        ]
    )


def operators(rng: random.Random) -> dict[str, Any]:
    """Return an update with operators."""
    change: dict[str, Any] = {}
    for _ in range(rng.randrange(1, 4)):
        name = rng.choice(["$set", "$unset", "$inc", "$push", "$pull", "$addToSet", "$min", "$max"])
        change.setdefault(name, {})[rng.choice(FIELDS)] = argument(rng, name)
    return change


def argument(rng: random.Random, name: str) -> Any:
    """Return an argument that fits the operator, mostly."""
    several = {"$each": rng.choices(VALUES, k=rng.randrange(4))}
    match name:
        case "$inc":
            return rng.choice([1, -1, 2.5, "a"])
        case "$push":
            sliced = {**several, "$slice": rng.choice([-2, -1, 0, 1, 3])}
            return rng.choice([rng.choice(VALUES), several, sliced])
        case "$addToSet":
            return rng.choice([rng.choice(VALUES), several])
        case "$pull":
            listed = {"$in": rng.choices([1, 2, "a", "w1", None], k=2)}
            conditions = [rng.choice(VALUES), listed, {"$gt": 1}, {"b": {"$gte": 2}}]
            return rng.choice([*conditions, {"id": listed}, {"b": rng.choice([1, None, listed])}])
        case _:
            return rng.choice(VALUES)


def pipeline(rng: random.Random) -> list[dict[str, Any]]:
    """Return an update pipeline."""
    stages: list[dict[str, Any]] = []
    for _ in range(rng.randrange(1, 3)):
        if rng.random() < 0.2:
            stages.append({"$unset": rng.sample(["a.b", "d", "e"], k=rng.randrange(1, 3))})
            continue
        value = rng.choice(
            [expression(rng), {"b": expression(rng), "c": operand(rng)}, [operand(rng)]]
        )
        stages.append({"$set": {rng.choice(FIELDS): value}})
    return stages

"""The part of MongoDB's filter and update language that every store has, evaluated in Python.

Filters: equality, `$eq $ne $in $nin $lt $lte $gt $gte $exists $size $elemMatch $not`, `$and $or`,
`$expr`. Updates: `$set $unset $inc $push` (`$each $slice`) `$pull $addToSet $min $max
$setOnInsert`, or pipelines of `$set` and `$unset` with the expressions of `expressions.py`.
Anything else raises `BadStatement`; a test holds every rule against a real MongoDB.
"""

from placet.store.language.check import check_filter
from placet.store.language.filters import matches
from placet.store.language.projection import project
from placet.store.language.updates import updated
from placet.store.language.values import MISSING, sort_key

__all__ = ["MISSING", "check_filter", "matches", "project", "sort_key", "updated"]

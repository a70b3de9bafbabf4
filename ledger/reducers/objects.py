"""What every object that events name last said of itself, and which of its lives is in force.

The same rules hold for every noun, so they are written down once:

* An object is known by its noun and its subject; its uid says which life of it is meant. Another
  uid is another life: the one it replaced is dead, and whatever still names it is stale.
* A revision orders what one source says of one life. A lower one than the last applied is stale,
  an equal one applies, and one that is absent applies and leaves the order as it was. The order
  outlives the removal of the object.
* A removal leaves a tombstone, for a day of fleet time. Then the object is forgotten: an upsert
  would begin anew in every respect. A life that was replaced in force stays dead for as long as
  anything is known of the object; one that had been removed before, until its tombstone crumbles.
  Nobody said of the first that it is gone, so its producer may still be there, however long it is
  silent, and would take the name back from the other life. What is remembered of it is its uid.
* Removing what is not there, or another life than the one in force, has no effect.

What an object's coming, changing and going means for anything else is told by the modules that
know its noun.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from immutables import Map

from ledger.facts.cluster import ClusterRemoved, ClusterUpserted, NodeRemoved, NodeUpserted
from ledger.facts.disk import DiskRemoved, DiskUpserted, VolumeRemoved, VolumeUpserted
from ledger.facts.quota import QueueRemoved, QueueUpserted, QuotaRemoved, QuotaUpserted
from ledger.facts.workload import (
    PodDeleted,
    PodObserved,
    ReplicaSetUpserted,
    WorkloadRemoved,
    WorkloadUpserted,
)
from ledger.reducers.replacing import replace
from ledger.units import Microseconds, Subject, Uid

Effect = Literal["applied", "stale", "no_effect"]
"""What an event did. The names are public: ``ledger_api.events.effect`` shows them."""

Noun = Literal[
    "cluster", "node", "workload", "pod", "replicaset", "queue", "quota", "disk", "volume"
]

Upsert = (
    ClusterUpserted
    | NodeUpserted
    | WorkloadUpserted
    | PodObserved
    | ReplicaSetUpserted
    | QueueUpserted
    | QuotaUpserted
    | DiskUpserted
    | VolumeUpserted
)
Removal = (
    ClusterRemoved
    | NodeRemoved
    | WorkloadRemoved
    | PodDeleted
    | QueueRemoved
    | QuotaRemoved
    | DiskRemoved
    | VolumeRemoved
)

TOMBSTONE_MICROSECONDS: Final = 24 * 60 * 60 * 1_000_000
"""A day: longer than any producer keeps what it could not yet send."""


class Key(NamedTuple):
    """An object, whichever of its lives."""

    noun: Noun
    subject: Subject


class Place(NamedTuple):
    """Where objects of a noun live: a cluster, or cluster/node."""

    noun: Noun
    within: str


class Known(NamedTuple):
    """What is known of one object."""

    uid: Uid
    """Of the life in force, or of the last one if there is only a tombstone."""
    fact: Upsert | None
    """What it last said; None is a tombstone."""
    at: Microseconds
    """Fleet time of the last upsert or removal that applied."""
    revisions: Map[str, int]
    """The last one applied, by source."""
    dead: Map[Uid, Microseconds | None]
    """Earlier lives, each with when it will be forgotten; None: not before the object is."""


class Tombstone(NamedTuple):
    """When which removal is forgotten."""

    until: Microseconds
    key: Key


_NO_REVISIONS: Final[Map[str, int]] = Map()
_NO_DEAD: Final[Map[Uid, Microseconds | None]] = Map()
_NOBODY: Final[Map[Subject, None]] = Map()


@dataclass(frozen=True)
class Objects:
    """All of them."""

    known: Map[Key, Known]
    members: Map[Place, Map[Subject, None]]
    """Who is in force in a place."""
    tombstones: Map[int, Tombstone]
    """A queue: every one lasts equally long, so they crumble in the order they were set."""
    oldest: int
    next: int

    def fact(self, noun: Noun, subject: Subject) -> Upsert | None:
        """What an object says of itself; None if there is none in force."""
        known = self.known.get(Key(noun, subject))
        return None if known is None else known.fact

    def inside(self, noun: Noun, within: str) -> list[Subject]:
        """Who of a noun is in force in a place, in order."""
        return sorted(self.members.get(Place(noun, within), _NOBODY))


NO_OBJECTS: Final = Objects(Map(), Map(), Map(), oldest=0, next=0)


class Upserted(NamedTuple):
    """What an upsert came to; ``before`` is what the same life said, None if it begins here."""

    objects: Objects
    effect: Effect
    before: Upsert | None
    replaced: Upsert | None
    """What the life said that this one took the place of."""


class Removed(NamedTuple):
    """What a removal came to; ``gone`` is what went, if anything did."""

    objects: Objects
    effect: Effect
    gone: Upsert | None


def upsert(objects: Objects, key: Key, fact: Upsert, *, source: str, now: Microseconds) -> Upserted:
    """Take in what an object says of itself, unless it is stale."""
    known = objects.known.get(key)
    if known is None:
        revisions = _applied(_NO_REVISIONS, source, fact.revision)
        return Upserted(
            _put(objects, key, Known(fact.uid, fact, now, revisions, _NO_DEAD), came=True),
            "applied",
            None,
            None,
        )
    if fact.uid in known.dead or _is_stale(known, fact.uid, source, fact.revision):
        return Upserted(objects, "stale", None, None)
    if fact.uid == known.uid:
        revisions = _applied(known.revisions, source, fact.revision)
        life = Known(fact.uid, fact, now, revisions, known.dead)
        came = known.fact is None
        return Upserted(_put(objects, key, life, came=came), "applied", known.fact, None)
    forgotten = None if known.fact is not None else _crumbles(known.at)
    revisions = _applied(_NO_REVISIONS, source, fact.revision)
    life = Known(fact.uid, fact, now, revisions, known.dead.set(known.uid, forgotten))
    came = known.fact is None
    return Upserted(_put(objects, key, life, came=came), "applied", None, known.fact)


def remove(objects: Objects, key: Key, fact: Removal, *, source: str, now: Microseconds) -> Removed:
    """Take an object out; without a uid, whichever life is in force."""
    uid, revision = fact.uid, fact.revision
    known = objects.known.get(key)
    if known is None:
        return Removed(objects, "no_effect", None)
    if uid in known.dead or _is_stale(known, uid or known.uid, source, revision):
        return Removed(objects, "stale", None)
    if known.fact is None or uid not in {None, known.uid}:
        return Removed(objects, "no_effect", None)
    revisions = _applied(known.revisions, source, revision)
    return Removed(_bury(objects, key, known, revisions, now), "applied", known.fact)


def drop(objects: Objects, keys: Iterable[Key], *, now: Microseconds) -> Objects:
    """Take out objects that went with something else; they are in force, in the order given."""
    for key in keys:
        known = objects.known[key]
        objects = _bury(objects, key, known, known.revisions, now)
    return objects


def restated(objects: Objects, key: Key, fact: Upsert) -> Objects:
    """With what an object in force said of itself already, in the place of what was kept of it."""
    known = objects.known[key]._replace(fact=fact)
    return replace(objects, known=objects.known.set(key, known))


def named(objects: Objects, key: Key, *, uid: Uid | None) -> Effect:
    """What an event does that only names an object: something, if it means the life in force."""
    known = objects.known.get(key)
    if known is None:
        return "no_effect"
    if uid in known.dead:
        return "stale"
    return "no_effect" if known.fact is None or uid not in {None, known.uid} else "applied"


def crumble(objects: Objects, now: Microseconds) -> tuple[Objects, list[Key]]:
    """Forget the removals that are a day old; also says which objects are forgotten altogether."""
    forgotten: list[Key] = []
    while objects.oldest < objects.next and objects.tombstones[objects.oldest].until <= now:
        until, key = objects.tombstones[objects.oldest]
        objects = replace(
            objects, tombstones=objects.tombstones.delete(objects.oldest), oldest=objects.oldest + 1
        )
        known = objects.known.get(key)
        if known is None:
            continue
        if known.fact is None and _crumbles(known.at) == until:
            objects = replace(objects, known=objects.known.delete(key))
            forgotten.append(key)
        elif crumbled := [uid for uid in sorted(known.dead) if known.dead[uid] == until]:
            dead = known.dead
            for uid in crumbled:
                dead = dead.delete(uid)
            objects = replace(objects, known=objects.known.set(key, known._replace(dead=dead)))
    return objects, forgotten


def _crumbles(removed_at: Microseconds) -> Microseconds:
    return Microseconds(removed_at + TOMBSTONE_MICROSECONDS)


def _is_stale(known: Known, uid: Uid, source: str, revision: int | None) -> bool:
    if revision is None or uid != known.uid:
        return False
    return revision < known.revisions.get(source, revision)


def _applied(revisions: Map[str, int], source: str, revision: int | None) -> Map[str, int]:
    return revisions if revision is None else revisions.set(source, revision)


def _put(objects: Objects, key: Key, life: Known, *, came: bool) -> Objects:
    known = objects.known.set(key, life)
    if not came or life.fact is None:
        return replace(objects, known=known)
    members = objects.members
    for place in _places(key.noun, life.fact):
        members = members.set(place, members.get(place, _NOBODY).set(key.subject, None))
    return replace(objects, known=known, members=members)


def _bury(
    objects: Objects, key: Key, known: Known, revisions: Map[str, int], now: Microseconds
) -> Objects:
    assert known.fact is not None, f"{key}: nothing is in force"
    members = objects.members
    for place in _places(key.noun, known.fact):
        left = members[place].delete(key.subject)
        members = members.set(place, left) if left else members.delete(place)
    return replace(
        objects,
        known=objects.known.set(key, Known(known.uid, None, now, revisions, known.dead)),
        members=members,
        tombstones=objects.tombstones.set(objects.next, Tombstone(_crumbles(now), key)),
        next=objects.next + 1,
    )


def _places(noun: Noun, fact: Upsert) -> tuple[Place, ...]:
    match fact:
        case NodeUpserted() | PodObserved() | ReplicaSetUpserted():
            return (Place(noun, fact.cluster),)
        case DiskUpserted():
            # With no cluster to name, "/node" is still no cluster's name.
            return (Place(noun, fact.cluster), Place(noun, f"{fact.cluster}/{fact.node}"))
        case _:
            return ()

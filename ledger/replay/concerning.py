"""What of a World is about those whom some records mention.

Two Worlds that are the same in all that is about a workload, and about the clusters, nodes and queues
that its decision names, lead to the same question about it, also in a program that takes other things
from the World than this one. Who leaves out a part of a history looks here at what must stay
(``ledger.replay.reducing``).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, Final

from immutables import Map

from ledger.reducers.spelling import told
from ledger.reducers.world import World
from ledger.units import Subject

Part = tuple[tuple[str, Any], ...]
"""Values of a World, each with where it stands, in order."""

_PASSING: Final = frozenset(
    {
        *("/position", "/decisions", "/now", "/due", "/last_effect", "/ended", "/released"),
        *("/turned", "/retries/first", "/retries/served", "/retries/turns"),
    }
)
"""What the next event replaces, or counts whatever happens to anybody."""

_TOGETHER: Final = frozenset({"fairshare", "proposal", "repair"})
"""Algorithms and kinds of records that come of a look at the whole fleet: no names tell what went in."""


@dataclass(frozen=True, slots=True)
class Concern:
    """Who is meant."""

    names: frozenset[str]
    everybody: bool
    """Whether whoever is there may count, named or not."""

    def touches(self, key: Any) -> bool:
        """Whether a name, or something that holds several, is about one of these."""
        if isinstance(key, str):
            return key in self.names or ("/" in key and self.names.issuperset(key.split("/")))
        if is_dataclass(key):
            return any(self.touches(getattr(key, field.name)) for field in told(type(key)))
        return isinstance(key, tuple) and any(map(self.touches, key))


def concern(records: Sequence[str], subject: Subject) -> Concern:
    """Whom some records, and an event about somebody, are about."""
    plain = [json.loads(one) for one in records]
    names = {name for one in plain for name in _names(one)}
    return Concern(
        frozenset({subject, *names, *(name.partition("@")[0] for name in names)}),
        everybody=any(not _TOGETHER.isdisjoint({one["algorithm"], one["kind"]}) for one in plain),
    )


def part(world: World, about: Concern) -> Part:
    """What of a World is about somebody, and what is about nobody in particular."""
    return tuple(_about("", world, about))


def _names(value: Any) -> Iterator[str]:
    """Every key and every text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _names(inner)


def _about(path: str, value: Any, about: Concern) -> Iterator[tuple[str, Any]]:
    if path in _PASSING:
        return
    if isinstance(value, Map):
        for key in sorted(filter(about.touches, value), key=repr):
            below, inner = f"{path}/{key!r}", value[key]
            if isinstance(inner, Map):
                yield from _about(below, inner, about)
            else:
                yield below, inner
    elif is_dataclass(value):
        for field in told(type(value)):
            yield from _about(f"{path}/{field.name}", getattr(value, field.name), about)
    elif isinstance(value, tuple):
        yield path, tuple(filter(about.touches, value))
    else:
        yield path, value

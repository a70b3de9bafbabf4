"""Where two Worlds part: the first field, entry or member in which they are not equal."""

from dataclasses import is_dataclass
from typing import Any, Final

from immutables import Map

from ledger.reducers.spelling import told
from ledger.reducers.world import World
from ledger.replay.report import ABSENT

_SHOWN: Final = 300
"""Characters of a value; what is longer is cut, a part of a World may be large."""


def first_unequal(recorded: World, recomputed: World) -> tuple[str, str, str]:
    """A path like ``/jobs/used/q``, and what each has there."""
    return _unequal("", recorded, recomputed)


def _unequal(path: str, one: Any, other: Any) -> tuple[str, str, str]:
    if type(one) is type(other):
        if is_dataclass(one):
            for field in told(type(one)):
                left, right = getattr(one, field.name), getattr(other, field.name)
                if left != right:
                    return _unequal(f"{path}/{field.name}", left, right)
        if isinstance(one, Map):
            for key in sorted({*one, *other}, key=repr):
                if one.get(key, ABSENT) != other.get(key, ABSENT):
                    below = f"{path}/{_spelled(key)}"
                    return _unequal(below, one.get(key, ABSENT), other.get(key, ABSENT))
        if isinstance(one, tuple) and len(one) == len(other):
            for place, (left, right) in enumerate(zip(one, other, strict=True)):
                if left != right:
                    return _unequal(f"{path}/{place}", left, right)
    return path, _spelled(one), _spelled(other)


def _spelled(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

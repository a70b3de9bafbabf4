"""Whether a disk or a node is what a volume asks for, whatever room there is.

A disk has to be switched on, not evicting, of the type that the volume's engine writes to, and to
have every tag that the volume selects by; a volume made from an image also needs a disk that the
image selects. A selector that asks for nothing always takes what has no tags, and takes what has
tags unless the fleet forbids it. A node satisfies a topology requirement if it meets one of the
terms; what a term leaves out may be anything.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "disks are unavailable",
    "tags not fulfilled",
    "insufficient storage",
    "nodes are unavailable",
    "hard affinity cannot be satisfied",
    "topology requirement cannot be satisfied",
    "none of the node candidates contains a ready engine image",
    "replica scheduling failed",
    "replica already scheduled",
    "unused failed replica is not supported",
]
"""What Longhorn writes into a volume's condition, word for word: people search for these."""

Misfit = Literal["not_allowed", "evicting", "wrong_type", "disk_tags", "image_tags"]
"""Which demand a disk does not meet. The names are public."""

Tag = str

DISK_TYPE_OF_ENGINE = {"v1": "filesystem", "v2": "block"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a disk is, apart from its bytes."""

    type: str = "filesystem"
    tags: Sequence[Tag] = ()
    allow: bool = True
    evicting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What a volume asks of a disk. Without an image, the image selects nothing."""

    engine: str = "v1"
    disk_selector: Sequence[Tag] = ()
    image: str = ""
    image_disk_selector: Sequence[Tag] = ()


@dataclass(frozen=True, slots=True)
class Ineligible:
    """The first demand that a disk does not meet, and how Longhorn words it."""

    code: Misfit
    reason: Reason


@dataclass(frozen=True, slots=True)
class Term:
    """One way to satisfy a topology requirement; an empty name stands for any."""

    zone: str = ""
    region: str = ""


def eligible(
    traits: Traits, demands: Demands, *, allow_empty_disk_selector: bool
) -> Ineligible | None:
    """The first demand that the disk does not meet; None if it meets all."""
    if not traits.allow:
        return Ineligible("not_allowed", "disks are unavailable")
    if traits.evicting:
        return Ineligible("evicting", "disks are unavailable")
    if DISK_TYPE_OF_ENGINE.get(demands.engine) != traits.type:
        return Ineligible("wrong_type", "disks are unavailable")
    if not tags_match(traits.tags, demands.disk_selector, allow_empty=allow_empty_disk_selector):
        return Ineligible("disk_tags", "tags not fulfilled")
    if demands.image and not tags_match(
        traits.tags, demands.image_disk_selector, allow_empty=allow_empty_disk_selector
    ):
        return Ineligible("image_tags", "tags not fulfilled")
    return None


def tags_match(tags: Sequence[Tag], selector: Sequence[Tag], *, allow_empty: bool) -> bool:
    """Whether every selected tag is there; ``allow_empty`` is about a selector without any."""
    if not selector:
        return allow_empty or not tags
    return not missing_tags(tags, selector)


def missing_tags(tags: Iterable[Tag], selector: Iterable[Tag]) -> list[Tag]:
    """The selected tags that are not there, in order."""
    return sorted(set(selector) - set(tags))


def topology_match(zone: str, region: str, terms: Sequence[Term]) -> bool:
    """Whether one of the terms is met; without terms everything is."""
    return not terms or any(
        term.zone in ("", zone) and term.region in ("", region) for term in terms
    )

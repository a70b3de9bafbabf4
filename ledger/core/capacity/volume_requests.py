"""How a volume is asked for: ``SRC:DST[:FLAGS[:SIZE[:READ_IOPS:WRITE_IOPS:READ_BPS:WRITE_BPS]]]``.

The source says who chooses the device. One that is empty or ends in ``AUTO`` leaves it to the
scheduler; any other is a path on the node, a *mount*, which is used as it is. What the scheduler
places is of three kinds: with the flag ``m`` a *monopoly*, which shares a whole device only with the
other monopolies of its instance; without size and quotas *unlimited*, which lies on whatever device
has room and consumes nothing; anything else is *normal*.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from ledger.errors import InvalidRequest

VolumeKind = Literal["mount", "monopoly", "unlimited", "normal"]

AUTO: Final = "AUTO"
MONOPOLY_FLAG: Final = "m"
USUAL_FLAGS: Final = "rw"

_SIZE: Final = re.compile(r"([0-9]{1,40})([kmgtp]?)(i|b|ib)?", re.IGNORECASE | re.ASCII)
"""Longer numbers are no sizes: nobody has such a device."""

_UNITS: Final = "kmgtp"


class Quota(NamedTuple):
    """Operations and bytes a second."""

    read_iops: int = 0
    write_iops: int = 0
    read_bps: int = 0
    write_bps: int = 0


NO_QUOTA: Final = Quota()


@dataclass(frozen=True, slots=True)
class VolumeRequest:
    """One volume of an instance. ``text`` is how it was asked for and names it in a plan."""

    text: str
    source: str
    destination: str
    flags: str
    size: int
    quota: Quota

    @property
    def kind(self) -> VolumeKind:
        """Who chooses the device, and what of it is consumed."""
        if self.source and not self.source.endswith(AUTO):
            return "mount"
        if MONOPOLY_FLAG in self.flags:
            return "monopoly"
        if self.size == 0 and self.quota == NO_QUOTA:
            return "unlimited"
        return "normal"

    @property
    def binding(self) -> tuple[str, str, str]:
        """What makes it the same volume when its size or its quotas change."""
        return self.source, self.destination, self.flags


def volume_requests(texts: Sequence[str]) -> tuple[VolumeRequest, ...]:
    """Read the volumes of one instance."""
    if len(set(texts)) < len(texts):
        raise InvalidRequest("invalid_volume", "volumes: the same text twice")
    return tuple(_volume_request(text) for text in texts)


def _volume_request(text: str) -> VolumeRequest:
    parts = text.split(":")
    if len(parts) not in (2, 3, 4, 8):
        raise InvalidRequest("invalid_volume", f"volume {text!r}: {len(parts)} parts")
    source, destination = parts[:2]
    if not destination:
        raise InvalidRequest("invalid_volume", f"volume {text!r}: no destination")
    size, *quotas = (_amount(text, part) for part in (*parts[3:], *"00000"[len(parts[3:]) :]))
    # Flags are letters in any order.
    flags = "".join(sorted(parts[2] if len(parts) > 2 and parts[2] else USUAL_FLAGS))
    request = VolumeRequest(text, source, destination, flags, size, Quota(*quotas))
    if request.kind == "monopoly" and size == 0:
        raise InvalidRequest("invalid_volume", f"volume {text!r}: a monopoly without a size")
    return request


def _amount(text: str, part: str) -> int:
    read = _SIZE.fullmatch(part)
    if read is None:
        raise InvalidRequest("invalid_volume", f"volume {text!r}: {part!r} is no size")
    digits, unit, _ = read.groups()
    return int(digits) << 10 * (_UNITS.index(unit.lower()) + 1 if unit else 0)

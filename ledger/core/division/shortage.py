"""What a division answers when there is less room than replicas."""

from dataclasses import dataclass
from typing import Literal

from ledger.units import Replicas


@dataclass(frozen=True, slots=True)
class Shortage:
    """There is room for fewer replicas than were asked for; nothing is placed."""

    wanted: Replicas
    room: Replicas
    code: Literal["insufficient_capacity"] = "insufficient_capacity"

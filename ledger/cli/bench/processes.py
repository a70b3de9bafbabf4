"""What a process has cost so far: processor time and memory, as Linux counts them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_KIB_PER_MIB: Final = 1024


def cpu_seconds(pid: int) -> float:
    """Processor time that a process of this machine has taken, its own and the kernel's for it."""
    # Behind the name in parentheses, which may hold anything: fields 14 and 15 of proc(5).
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(pid: int) -> tuple[int, int]:
    """What a process has in memory now, and the most it ever had, in MiB."""
    told = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    kib = {words[0]: int(words[1]) for words in told if words[0] in {"VmRSS:", "VmHWM:"}}
    return kib["VmRSS:"] // _KIB_PER_MIB, kib["VmHWM:"] // _KIB_PER_MIB


class Cost:
    """Processor time of processes, ours and the server's that work for them, over all rounds."""

    def __init__(self) -> None:
        self._events = 0
        self._ours = 0.0
        self._server = 0.0
        self._running: tuple[Sequence[int], Sequence[int], float, float] | None = None

    def begin(self, ours: Sequence[int], server: Sequence[int]) -> None:
        """Note where all stand; of a server that is not on this machine nothing is known."""
        self._running = (ours, server, _together(ours), _together(server))

    def end(self, events: int) -> None:
        """Note what so many events have cost since then."""
        assert self._running is not None
        ours, server, ours_before, server_before = self._running
        self._events += events
        self._ours += _together(ours) - ours_before
        self._server += _together(server) - server_before

    def told(self) -> dict[str, object]:
        """Microseconds of processor time for each event."""
        micro = 1e6 / self._events
        told: dict[str, object] = {"cpu_us_per_event": round(self._ours * micro, 1)}
        if self._server:
            told["server_cpu_us_per_event"] = round(self._server * micro, 1)
        return told


def _together(pids: Sequence[int]) -> float:
    return sum(map(cpu_seconds, pids))

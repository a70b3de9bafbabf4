"""What a process has cost so far: processor time and memory, as Linux counts them."""

import os
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_MEBIBYTE_KIB: Final = 1024


def cpu_seconds(pid: int) -> float:
    """Processor time that a process of this machine has taken, its own and the kernel's for it."""
    # Behind the name in parentheses, which may hold anything: fields 14 and 15 of proc(5).
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(pid: int) -> tuple[int, int]:
    """What a process has in memory now, and the most it ever had, in MiB."""
    kib = {
        name: int(rest.split()[0])
        for name, _, rest in (
            line.partition(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        )
        if name in {"VmRSS", "VmHWM"}
    }
    return kib["VmRSS"] // _MEBIBYTE_KIB, kib["VmHWM"] // _MEBIBYTE_KIB

"""What ``ledger bench audit`` can measure: a name, and what measures it."""

from collections.abc import Awaitable, Mapping
from typing import Final, Protocol

from ledger.cli.bench.audit_explain import explained
from ledger.cli.bench.audit_history import Ground
from ledger.cli.bench.audit_replay import replayed
from ledger.cli.bench.audit_sql import answers
from ledger.cli.bench.audit_verify import deep, verified
from ledger.cli.bench.engine_finding import Finding


class Measure(Protocol):
    """One part: what it measures is there, and it changes nothing of it."""

    def __call__(self, ground: Ground, *, rounds: int) -> Awaitable[Finding]:
        """Measure so many times; what is reported is the median."""


PARTS: Final[Mapping[str, Measure]] = {
    "verify": verified,
    "deep": deep,
    "replay": replayed,
    "explain": explained,
    "sql": answers,
}

"""What ``ledger bench audit`` can measure: a name, and what measures it."""

from collections.abc import Awaitable, Mapping
from typing import Final, Protocol

from ledger.cli.bench.audit_replay import replayed
from ledger.cli.bench.audit_sql import answers
from ledger.cli.bench.audit_verify import deep, verified
from ledger.cli.bench.engine_finding import Finding
from ledger.cli.bench.servers import Postgres
from ledger.cli.simulator.sizes import Sizes


class Measure(Protocol):
    """One part: it makes what it audits in a database of its own."""

    def __call__(
        self, postgres: Postgres, sizes: Sizes, *, events: int, rounds: int
    ) -> Awaitable[Finding]:
        """Measure so many times; what is reported is the median."""


PARTS: Final[Mapping[str, Measure]] = {
    "verify": verified,
    "deep": deep,
    "replay": replayed,
    "sql": answers,
}

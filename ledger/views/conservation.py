"""Where the rows that people see of the book do not add up, as ``ledger_api.conservation`` finds it.

The view works out every sum again from what the decisions in force record, and holds it against the
row in which the decider's book is shown. What it calls that which differs is part of the contract:
docs/errors.md says of each what it means. Whether the book itself adds up is for a replay to say,
which has one (``ledger.reducers.conservation``).
"""

from typing import Final, Literal, NamedTuple, get_args

import asyncpg

Finding = Literal[
    "node_held",
    "tasks_held",
    "tasks_placed",
    "job_used",
    "queue_used",
    "disk_scheduled",
    "replicas_divided",
    "free_below_zero",
    "over_committed",
]

FINDINGS: Final[tuple[Finding, ...]] = get_args(Finding)


class Unequal(NamedTuple):
    """An amount that is not what it should be."""

    fleet: str
    finding: Finding
    cluster: str | None
    node: str | None
    subject: str | None
    amount: str | None
    recorded: int
    kept: int

    @property
    def address(self) -> str:
        """Whose amount it is."""
        named = (self.cluster, self.node, self.subject)
        return "/".join(name for name in named if name)


async def unequal(connection: asyncpg.Connection) -> list[Unequal]:
    """Everything that does not add up, by fleet and name; nothing where all is well."""
    rows = await connection.fetch(
        "SELECT fleet, finding, cluster, node, subject, amount, recorded, kept"
        "  FROM ledger_api.conservation"
        " ORDER BY fleet, finding, cluster, node, subject, amount"
    )
    return [
        Unequal(**dict(row) | {"recorded": int(row["recorded"]), "kept": int(row["kept"])})
        for row in rows
    ]

"""The schema: every table, view and function, once.

Each statement stands in a file of ``migrations/sql/0026``, one subject a file, in an order in which each
finds what it looks at; their comments say what each is for. Forward only: there is no downgrade, because
history is not taken back.
"""

from pathlib import Path

from alembic import op

revision = "0026"
down_revision = None
branch_labels = None
depends_on = None

SUBJECTS = (
    "protection",
    "fleets",
    "readers",
    "trees",
    "events",
    "kafka",
    "recovery",
    "quarantine",
    "decisions",
    "effects",
    "leases",
    "snapshots",
    "divisions",
    "deployments",
    "disks",
    "tasks",
    "movements",
    "places",
    "refusals",
    "incidents",
    "proposals",
    "books",
    "conservation",
    "shares",
    "overview",
    "past",
    "over_time",
    "positions",
    "as_of",
    "grants",
)


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        for statement in statements((folder / f"{subject}.sql").read_text()):
            op.get_bind().exec_driver_sql(statement)


def statements(script: str) -> list[str]:
    """The statements of a script: a line that is only ``;;`` ends each (bodies hold plain ones)."""
    return [part.strip() for part in script.split("\n;;\n") if part.strip()]

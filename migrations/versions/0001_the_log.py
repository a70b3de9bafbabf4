"""The log: fleets, events, identity, receipts, quarantine, decisions, both trees.

Every statement stands in a file of ``migrations/sql/0001``, one subject a file; their comments say
what each table is for. Forward only: there is no downgrade, because history is not taken back.
"""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SUBJECTS = (
    "protection",
    "fleets",
    "events",
    "kafka",
    "quarantine",
    "decisions",
    "trees",
    "views",
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

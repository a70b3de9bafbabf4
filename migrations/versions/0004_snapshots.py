"""Snapshots: where a fold can begin, and which World the log added up to at which position.

The statements stand in ``migrations/sql/0004``. The table that is replaced was never written, so a
release of the schema before works on it.
"""

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SUBJECTS = ("snapshots", "detach", "views", "grants")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

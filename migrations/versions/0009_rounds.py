"""Rounds of jobs as SQL shows them: tasks placed and evicted, and how namespaces stand in queues.

The statements stand in ``migrations/sql/0009``. Tables and views are added: a release of the schema
before works on it.
"""

from pathlib import Path

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

SUBJECTS = ("tasks", "fair_shares", "grants")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

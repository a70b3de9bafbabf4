"""The book as SQL shows it: what nodes declare, hold and have free, where it does not add up, incidents.

The statements stand in ``migrations/sql/0005``. A table, views and columns are added: a
release of the schema before works on it.
"""

from pathlib import Path

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

SUBJECTS = ("node_books", "incidents", "grants")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

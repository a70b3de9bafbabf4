"""Divisions of every strategy: what only static weight has may be absent, what is available is shown.

The statements stand in ``migrations/sql/0003``. Columns are added and restrictions lifted: a release
of the schema before works on it.
"""

from pathlib import Path

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = (Path(__file__).parent.parent / "sql" / revision / "divisions.sql").read_text()
    # A line that is only ``;;`` ends each statement.
    for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
        op.get_bind().exec_driver_sql(statement)

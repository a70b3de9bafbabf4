"""Proposals as SQL shows them: what could be moved, why, and what became of it.

The statements stand in ``migrations/sql/0011``. A table and views are added: a release of the schema
before works on it.
"""

from pathlib import Path

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = (Path(__file__).parent.parent / "sql" / revision / "proposals.sql").read_text()
    # A line that is only ``;;`` ends each statement.
    for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
        op.get_bind().exec_driver_sql(statement)

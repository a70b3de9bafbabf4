"""Rows of one fleet are looked up, however many there are of others.

The statements stand in ``migrations/sql/0019``.
"""

from pathlib import Path

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

SUBJECTS = ("one_of_several",)


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

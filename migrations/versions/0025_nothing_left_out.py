"""Nothing left out: clusters that lost what they had stand among those of their division.

The statements stand in ``migrations/sql/0025``. What clusters lost by divisions of before is taken from the
decisions. Deciders are stopped before: an older one writes no such rows.
"""

from pathlib import Path

from alembic import op

revision = "0025"
down_revision = "0022"
branch_labels = None
depends_on = None

SUBJECTS = ("divisions",)


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

"""Nothing left out: what clusters lost is told with their division, and what was in force from the beginning on.

The statements stand in ``migrations/sql/0025``; those about fleets tell of their incidents and deadlines (0024), too.
No log that comes here was decided for by an earlier release.
"""

from pathlib import Path

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

SUBJECTS = ("divisions", "past", "fleets")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

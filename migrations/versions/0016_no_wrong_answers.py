"""What would look like an answer and is none is refused, and what was left out is told.

The statements stand in ``migrations/sql/0016``. The functions of ``ledger_api`` refuse positions that are
not decided and fleets that are not there; candidates and incidents show rows that they had left out.
"""

from pathlib import Path

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

SUBJECTS = ("as_of", "views")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

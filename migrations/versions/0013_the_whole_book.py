"""The whole book as SQL shows it: disks, jobs and queues too, and each task that runs.

The statements stand in ``migrations/sql/0013``. Tables, views and a column with a default are added: a
release of the schema before works on it. The tables are filled as their rows are touched; where history
was decided before them, ``ledger_api.conservation`` names what is not there yet.
"""

from pathlib import Path

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

SUBJECTS = ("books", "conservation", "grants")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

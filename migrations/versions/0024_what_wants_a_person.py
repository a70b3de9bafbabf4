"""What wants a person is told by what is so now: incidents that last, and deadlines that nobody reaches.

The statements stand in ``migrations/sql/0024``. Of incidents that were recorded before nobody wrote down when
they ended, so that they are neither open nor over. Deciders are stopped before: an older one writes neither
ends nor deadlines.
"""

from pathlib import Path

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

SUBJECTS = ("tables", "incidents", "fleets")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

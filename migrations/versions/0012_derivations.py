"""A decision whole, and the events that speak of an object, for whoever asks how it came about.

The statements stand in ``migrations/sql/0012``. An index is added, and a view shows one column more:
a release of the schema before works on it.
"""

from pathlib import Path

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

SUBJECTS = ("derivations",)


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

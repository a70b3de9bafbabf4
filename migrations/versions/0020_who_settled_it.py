"""Who settled what was set aside, why and when, is seen by readers.

The statements stand in ``migrations/sql/0020``.
"""

from pathlib import Path

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

SUBJECTS = ("who_settled_it",)


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

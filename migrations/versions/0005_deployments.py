"""Deployments and capacity classes as SQL shows them, what ended each refusal, and who was weighed.

The statements stand in ``migrations/sql/0005``. Tables, views and columns are added: a release of
the schema before works on it.
"""

from pathlib import Path

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

SUBJECTS = ("deployments", "refusals", "candidates", "grants")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

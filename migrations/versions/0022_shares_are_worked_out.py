"""What a share comes to is worked out where it is asked for: what it is of is said once, not in each row.

The statements stand in ``migrations/sql/0022``. With the total that is shared out every share turns, and
with a weight those of its namespace, so each is kept in a table of its own. Deciders are stopped before: an
older one writes other rows. Of what older rounds shared out nothing is known: until the next round that tells
it, shares are null.
"""

from pathlib import Path

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

SUBJECTS = ("tables", "views", "former")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

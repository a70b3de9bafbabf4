"""Which decision placed a subject is said once, not in each of its places; who asks of no fleet is refused.

The statements stand in ``migrations/sql/0021``: a decision that leaves a place as it was does not write
its row again. What views and functions tell is the same. Deciders, ``ledger serve`` and verifications are
stopped before: an older decider writes other rows, and whoever began to read before sees tables that are empty.
"""

from pathlib import Path

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

SUBJECTS = ("placed_by", "places", "views", "conservation", "former", "refused")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

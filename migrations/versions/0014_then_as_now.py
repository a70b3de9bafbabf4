"""Then as now: what was in force at any position, and readers who see the fleets that they may see.

The statements stand in ``migrations/sql/0014``. What people read of the state of a fleet is kept from now
on when something else takes its place. Of what was decided before, only the state it left is known:
``ledger.histories`` has the position from which on the answers are whole, and no earlier one is answered.
A decider of the release before goes on working, but keeps nothing: stop it before.

Out of the box every reader sees every fleet, as before.
"""

from pathlib import Path

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

SUBJECTS = ("past", "readers", "views", "as_of", "grants")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

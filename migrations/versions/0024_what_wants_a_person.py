"""What wants a person is told by what is so now: incidents that last, and deadlines that nobody reaches.

The statements stand in ``migrations/sql/0024``. Deciders are stopped before: an older one writes neither ends nor
deadlines. A log that one has decided for is refused, because nobody wrote down when its incidents ended, and a row
that says so would be one by which a verification may be kept from looking.
"""

from pathlib import Path

from alembic import op

from ledger.errors import SetupProblem

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

SUBJECTS = ("tables", "incidents")

DECIDED = """
SELECT f.name, max(d.through)
  FROM ledger.decided d JOIN ledger.fleets f ON f.number = d.fleet GROUP BY f.name ORDER BY f.name
"""


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)
    # Whoever decides waits for the tables that are locked by now, and is an older release then.
    decided = op.get_bind().exec_driver_sql(DECIDED).first()
    if decided is not None:
        raise SetupProblem(
            f"fleet {decided[0]}: an earlier release decided for it, through position {decided[1]}, and did not"
            " tell when incidents ended: stay with that release, or take the events into a new database"
        )

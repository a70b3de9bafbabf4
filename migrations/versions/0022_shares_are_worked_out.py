"""What a share comes to is worked out where it is asked for: what it is of is said once, not in each row.

The statements stand in ``migrations/sql/0022``. With the total that is shared out every share turns, and
with a weight those of its namespace, so each is kept in a table of its own. Deciders are stopped before: an
older one writes other rows. A log with rounds of an earlier version is refused, because their decisions say
otherwise what they say.
"""

from pathlib import Path

from alembic import op

from ledger.errors import SetupProblem

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

SUBJECTS = ("tables", "views", "former")

PLAYED = """
SELECT f.name, min(d.number)
  FROM ledger.decisions d JOIN ledger.fleets f ON f.number = d.fleet
 WHERE d.kind IN ('allocation', 'eviction') GROUP BY f.name ORDER BY f.name
"""


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)
    # Whoever decides waits for the tables that are locked by now, and is an older release then.
    played = op.get_bind().exec_driver_sql(PLAYED).first()
    if played is not None:
        raise SetupProblem(
            f"fleet {played[0]}: its decision {played[1]} is of a round that an earlier release played, and"
            " this one does not read it: stay with that release, or take the events into a new database"
        )

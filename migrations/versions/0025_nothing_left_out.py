"""Nothing left out: what clusters lost is told with their division, and what was in force from the beginning on.

The statements stand in ``migrations/sql/0025``. What clusters lost by divisions of before is taken from the
decisions. Deciders are stopped before: an older one writes no such rows. A log that was decided for before what
was in force was kept is refused: nobody can tell of it what was, and a row that says so would be one by which
a verification may be kept from looking.
"""

from pathlib import Path

from alembic import op

from ledger.errors import SetupProblem

revision = "0025"
down_revision = "0022"
branch_labels = None
depends_on = None

SUBJECTS = ("divisions", "past", "fleets")

NOT_KEPT = """
SELECT f.name, h.first
  FROM ledger.histories h JOIN ledger.fleets f ON f.number = h.fleet ORDER BY f.name
"""


def upgrade() -> None:
    unkept = op.get_bind().exec_driver_sql(NOT_KEPT).first()
    if unkept is not None:
        raise SetupProblem(
            f"fleet {unkept[0]}: what was in force before position {unkept[1]} was not kept by an earlier release,"
            " and this one shows it of every position: stay with that release, or take the events into a new"
            " database"
        )
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

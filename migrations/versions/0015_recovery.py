"""A fleet can be stopped in the database, and go on in its next life.

The statements stand in ``migrations/sql/0015``. Whoever remembers more than the database does (the
signer, Kafka, a decider) says so in ``ledger.fleet_stops``, and from then on neither tree of the fleet
grows in the life that it is in. ``ledger.open_incarnation`` begins the next one.
"""

from pathlib import Path

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

SUBJECTS = ("stops", "views", "grants")


def upgrade() -> None:
    folder = Path(__file__).parent.parent / "sql" / revision
    for subject in SUBJECTS:
        script = (folder / f"{subject}.sql").read_text()
        # A line that is only ``;;`` ends each statement.
        for statement in filter(None, map(str.strip, script.split("\n;;\n"))):
            op.get_bind().exec_driver_sql(statement)

"""The part ``sql`` of ``ledger bench audit`` measures what it says; how fast is asked by running it."""

from ledger.cli.bench import engine_history, servers
from ledger.cli.bench.audit_sql import answers
from tests.postgres import Postgres


async def test_what_was_and_what_is_in_force_is_asked_of_a_decided_history(
    postgres: Postgres,
) -> None:
    server = servers.Postgres(postgres.url, postgres.template, "18", local=False)

    found = await answers(server, engine_history.QUICK, events=600, rounds=1)

    assert found.part == "sql"
    assert found.figures["places_at_most"] > 10
    assert found.figures["decisions"] > 100
    assert [bar.figure for bar in found.bars] == [
        "milliseconds as of a position",
        "milliseconds of one workload",
        "milliseconds of one node",
    ]
    assert all(bar.measured > 0 for bar in found.bars)

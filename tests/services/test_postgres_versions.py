"""The schema and the whole way of an event work on the oldest embedded server as on the newest."""

import pytest

from ledger.log import lines
from ledger.log.database import connect
from ledger.log.embedded import server
from ledger.log.embedded.binaries import Major
from ledger.log.schema import migrate, newest
from tests.events_for_tests import cluster_line


@pytest.mark.postgres
@pytest.mark.parametrize("major", ["16", "18"])
async def test_a_log_lives_on_this_server(major: Major) -> None:
    async with server.temporary(version=major) as running:
        assert await migrate(running.url) == newest()

        connection = await connect(running.url, "ledger_writer")
        taken = await lines.ingest(
            connection, [cluster_line(1), cluster_line(2), cluster_line(1), b"{"]
        )

        assert connection.get_server_version().major == int(major)
        assert (taken.appended, taken.duplicates, taken.quarantined) == (2, 1, 1)
        await connection.close()

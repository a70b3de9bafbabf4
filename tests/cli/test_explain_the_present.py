"""``ledger explain`` of what was touched, is gone, waits, or was otherwise once: it says so."""

import asyncio
import json
from typing import Any

from ledger.log.database import connect
from tests.cli.test_explain import HISTORY, asked, settle


def explained(url: str, *said: str) -> dict[str, Any]:
    """What machines are told."""
    answer = asked(url, *said, "--json")
    assert answer.exit_code in (0, 1), answer.stderr
    told: dict[str, Any] = json.loads(answer.stdout)
    return told


def touch(url: str, statement: str) -> None:
    """Change history, as only a superuser can who means to."""

    async def touched() -> None:
        connection = await connect(url, None)
        async with connection.transaction():
            await connection.execute("SET LOCAL session_replication_role = replica")
            assert await connection.execute(statement) == "UPDATE 1"
        await connection.close()

    asyncio.run(touched())


def test_what_somebody_put_into_a_record_is_shown_and_found_out(database_url: str) -> None:
    settle(database_url, HISTORY)
    touch(
        database_url,
        "UPDATE ledger.decisions SET record = convert_to("
        " '{\"approved_by\":\"mallory\",' || substr(convert_from(record, 'UTF8'), 2), 'UTF8')"
        " WHERE number = 1",
    )

    genuine = explained(database_url, "0", "--check")
    touched = explained(database_url, "1", "--check")
    said = asked(database_url, "1", "--check")

    assert genuine["checked"]["digest"]
    assert not touched["checked"]["digest"]
    assert touched["record"]["approved_by"] == "mallory"
    assert said.exit_code == 1
    assert "THE RECORD DOES NOT HAVE ITS DIGEST" in said.stdout


def test_columns_that_say_something_else_than_the_record_are_found_out(database_url: str) -> None:
    settle(database_url, HISTORY)
    touch(
        database_url,
        "UPDATE ledger.decisions SET result = result || '{\"replicas\": 9}' WHERE number = 0",
    )
    touch(
        database_url,
        "UPDATE ledger.decisions SET reasons = reasons || '{\"more\": 1}' WHERE number = 1",
    )

    answers = [explained(database_url, number, "--check") for number in ("0", "1", "2")]

    assert [one["checked"]["columns"] for one in answers] == [["result"], ["reasons"], []]
    assert asked(database_url, "0", "--check").exit_code == 1
    assert all(one["checked"]["digest"] for one in answers)

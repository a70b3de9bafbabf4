"""docs/sql.md and README.md say of the views what the database says, and their queries run."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ledger.log import lines
from ledger.log.database import connect
from ledger.views.query import ask, begin
from tests.engine.deciding import decide_all
from tests.engine.test_deployments_in_sql import rows
from tests.engine.test_the_book_in_sql import story

REPOSITORY = Path(__file__).parent.parent.parent
PAGE = REPOSITORY / "docs" / "sql.md"
PAGES = (PAGE, REPOSITORY / "README.md")


def queries() -> list[str]:
    """Every statement of every sql block of the pages."""
    blocks = [
        block
        for page in PAGES
        for block in re.findall(r"```sql\n(.*?)```", page.read_text(), flags=re.DOTALL)
    ]
    return [part.strip() for block in blocks for part in block.split(";") if part.strip()]


async def test_every_view_and_column_is_documented_as_the_database_comments_it(
    database_url: str,
) -> None:
    connection = await connect(database_url, None)
    try:
        rows = await connection.fetch(
            "SELECT c.relname, obj_description(c.oid) AS about, a.attname,"
            "       format_type(a.atttypid, a.atttypmod) AS type,"
            "       col_description(c.oid, a.attnum) AS meaning"
            "  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            "  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"
            " WHERE n.nspname = 'ledger_api' ORDER BY c.relname, a.attnum"
        )
    finally:
        await connection.close()
    assert rows

    wanted: dict[str, list[str]] = {}
    for view, about, column, type_, meaning in rows:
        spelled = type_.replace("timestamp with time zone", "timestamptz")
        assert about, f"view {view} has no comment"
        assert meaning, f"{view}.{column} has no comment"
        wanted.setdefault(view, [about]).append(f"| `{column}` | {spelled} | {meaning} |")

    assert documented() == wanted


def documented() -> dict[str, list[str]]:
    sections = re.findall(r"### (\w+)\n\n(.*?)\n\n(.*?)(?=\n\n|\Z)", PAGE.read_text(), re.DOTALL)
    return {view: [about, *table.strip().splitlines()[2:]] for view, about, table in sections}


async def test_every_function_is_documented_as_the_database_comments_it(database_url: str) -> None:
    connection = await connect(database_url, None)
    try:
        rows = await connection.fetch(
            "SELECT proname, pg_get_function_arguments(oid), obj_description(oid, 'pg_proc')"
            "  FROM pg_proc WHERE pronamespace = 'ledger_api'::regnamespace ORDER BY 1, 2"
        )
    finally:
        await connection.close()
    wanted = []
    for name, asked, about in rows:
        assert about, f"{name} has no comment"
        spelled = asked.replace("timestamp with time zone", "timestamptz").replace('"', "")
        wanted.append(f"| `{name}({spelled})` | {about} |")

    section = PAGE.read_text().split("## The functions\n\n")[1].split("\n\n")[0]
    assert section.splitlines()[2:] == wanted


@pytest.mark.parametrize("query", queries())
async def test_a_documented_query_runs_as_a_reader(database_url: str, query: str) -> None:
    operator = await connect(database_url, None)
    connection = await connect(database_url, "ledger_reader")
    try:
        await operator.execute(
            "INSERT INTO ledger.fleets (number, name, clock) VALUES (1, 'shop', 'wall');"
            "INSERT INTO ledger.decided (fleet, through, decisions, epoch) VALUES (1, 5000, 0, 1)"
        )
        await connection.execute("SET search_path = ledger_api")

        await connection.fetch(query)
    finally:
        await operator.close()
        await connection.close()


def answering(question: str, told: dict[str, str]) -> str:
    """The query under a question of the page, of what a test has instead of what the page names."""
    query: str
    (query,) = re.findall(
        rf"{re.escape(question)}\n\n```sql\n(.*?);\n```", PAGE.read_text(), flags=re.DOTALL
    )
    for named, instead in told.items():
        assert named in query
        query = query.replace(named, instead)
    return query


async def test_the_page_tells_two_positions_apart_and_who_moved_on_nodes(
    database_url: str,
) -> None:
    operator = await connect(database_url, None)
    reader = await connect(database_url, "ledger_reader")
    try:
        await lines.ingest(operator, story().lines)
        await decide_all(database_url)
        await reader.execute("SET search_path = ledger_api")
        through = await reader.fetchval("SELECT decided_through FROM fleets WHERE fleet = 'test'")

        async def apart(a: int, b: int) -> list[tuple[Any, ...]]:
            question = "What is placed differently at one position than at another?"
            told = {"'shop'": "'test'", "1000": str(a), "2000": str(b)}
            return await rows(reader, answering(question, told))

        for position in range(through + 1):
            assert await apart(position, position) == []
        came = await apart(0, through)
        there = await rows(
            reader,
            "SELECT kind, subject, cluster, node, disk, 0, count"
            f" FROM placements_as_of('test', {through})",
        )
        assert sorted(came, key=repr) == sorted(there, key=repr)
        assert {row[0] for row in came} >= {"deployment", "division", "disk_placement"}
        assert await apart(through, 0) == [(*row[:5], row[6], row[5]) for row in came]

        moved = await rows(
            reader,
            answering(
                "Who moved a workload's replicas on Tuesday, and what had happened?",
                {
                    "'shop'": "'test'",
                    "shop/cart": "shop/db",
                    "2026-01-06 00:00Z": "-infinity",
                    "2026-01-07 00:00Z": "infinity",
                },
            ),
        )
        assert moved
        assert {row[3] for row in moved} == {"n1", "n2"}
    finally:
        await operator.close()
        await reader.close()


async def test_the_page_tells_what_decisions_held_of_nodes_at_every_position(
    database_url: str,
) -> None:
    operator = await connect(database_url, None)
    reader = await connect(database_url, "ledger_reader")
    pages: dict[int, list[tuple[Any, ...]]] = {}
    try:
        await reader.execute("SET search_path = ledger_api")
        told = story()
        told.node_gone("n2")
        for line in told.lines:
            await lines.ingest(operator, [line])
            await decide_all(database_url)
            through = await reader.fetchval("SELECT decided_through FROM fleets")
            pages[through] = await rows(reader, PLACED)
        question = "How much of each node did decisions in force hold at a position?"

        then = {
            position: await rows(
                reader, answering(question, {"'shop'": "'test'", "4711": str(position)})
            )
            for position in pages
        }
        declared = {
            position: await rows(
                reader,
                answering(
                    "What did a node declare then? Nothing, where the answer is a `removed`, or its"
                    " cluster was removed or listed without it since.",
                    {"'shop'": "'test'", "4711": str(position), "m1/n1": "m1/n2"},
                ),
            )
            for position in pages
        }
    finally:
        await operator.close()
        await reader.close()

    assert then == pages
    assert len({repr(page) for page in pages.values()}) > 5, "and it was not always the same"
    assert {len(row) for row in declared.values()} == {0, 1}
    ((_, last, _),) = declared[max(declared)]
    assert last == "ledger.cluster.node.removed.v1"


PLACED = """
SELECT cluster, node, sum(placed) FILTER (WHERE amount = 'cpu'),
       sum(placed) FILTER (WHERE amount = 'memory'), sum(placed) FILTER (WHERE amount = 'storage'),
       sum(placed) FILTER (WHERE amount = 'pods')
  FROM (SELECT cluster, node, amount, placed FROM node_books
        UNION ALL
        SELECT DISTINCT b.cluster, b.node, a, 0 FROM node_books b
         CROSS JOIN unnest(ARRAY['cpu', 'memory', 'storage', 'pods']) a) each
 GROUP BY cluster, node HAVING sum(placed) FILTER (WHERE amount = 'pods') > 0
 ORDER BY cluster, node
"""
"""What the book says now, in the columns of the page's query."""


async def test_a_time_without_a_zone_is_utc_wherever_the_login_is(database_url: str) -> None:
    connection = await connect(database_url, "ledger_reader")
    try:
        await connection.execute("SET TimeZone = 'Asia/Tokyo'")
        await begin(connection)

        answer = await ask(connection, "SELECT '2026-01-06'::timestamptz")
    finally:
        await connection.close()
    assert answer.rows == [(datetime(2026, 1, 6, tzinfo=UTC),)]

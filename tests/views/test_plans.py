"""What stands in force now is read from what is in force now: no current view looks through history.

What is short stands in the refusal alone: of each that is open its one decision is looked up, where it is asked for.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import asyncpg
import pytest

from ledger.log.database import connect

CURRENT: Final = {
    "placements": {"placements", "placed_by"},
    "running_tasks": {"running_tasks", "job_books"},
    "fair_shares": {"fair_shares", "namespace_weights", "shared_totals"},
    "open_refusals": {"open_refusals", "decisions"},
    "open_incidents": {"open_incidents"},
    "node_books": {"node_books"},
    "disk_books": {"disk_books"},
    "job_books": {"job_books"},
    "queue_books": {"queue_books"},
    "leases": {"leases", "standbys"},
    "checkpoints": {"checkpoints"},
    "schema_version": {"schema_version"},
}
BESIDE: Final = {"fleets", "fleet_readers", "pg_authid"}
"""Who may see which fleet is asked by all."""


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


async def planned(connection: asyncpg.Connection, query: str) -> list[dict[str, Any]]:
    (told,) = json.loads(await connection.fetchval(f"EXPLAIN (FORMAT JSON) {query}"))
    return list(nodes(told["Plan"]))


@pytest.mark.parametrize("view", CURRENT)
async def test_a_current_view_looks_at_no_history(database_url: str, view: str) -> None:
    connection = await connect(database_url, "ledger_reader")
    try:
        plan = await planned(connection, f"SELECT * FROM ledger_api.{view}")
    finally:
        await connection.close()

    looked_at = {node["Relation Name"] for node in plan if "Relation Name" in node}
    assert looked_at <= CURRENT[view] | BESIDE
    assert CURRENT[view] <= looked_at
    whole = {node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan"}
    assert "decisions" not in whole, "each is found by its number, and none that no row names"


@pytest.mark.parametrize(
    "source",
    ["open_refusals", "open_refusals_as_of('test', 7)", "fleets", "fleets_as_of('test', 7)"],
)
async def test_no_decision_is_looked_at_where_its_numbers_are_not_asked_for(
    database_url: str, source: str
) -> None:
    connection = await connect(database_url, "ledger_reader")
    try:
        plan = await planned(connection, f"SELECT fleet FROM ledger_api.{source}")
    finally:
        await connection.close()

    assert "decisions" not in {node.get("Relation Name") for node in plan}


ONE = {
    "a workload": ("subject = 'shop/web@m1'", "placements", "placements_pkey"),
    "a node": ("cluster = 'm1' AND node = 'n1'", "placements", "placements_by_node"),
    "a workload then": (
        "subject = 'shop/web@m1'",
        "placements_as_of('test', 70000)",
        "past_placements_by_subject",
    ),
    "all then": ("true", "placements_as_of('test', 70000)", "past_placements_by_fork"),
}


@pytest.mark.parametrize("asked", ONE)
async def test_what_is_asked_for_is_found_by_an_index(database_url: str, asked: str) -> None:
    """Over a hundred thousand places now and as many then, which Postgres knows of."""
    condition, source, index = ONE[asked]
    operator = await connect(database_url, None)
    reader = await connect(database_url, "ledger_reader")
    try:
        await operator.execute(
            "INSERT INTO ledger.fleets (number, name, clock) VALUES (1, 'test', 'wall')"
        )
        await operator.execute(
            "INSERT INTO ledger.placements (fleet, kind, subject, cluster, node, count, from_position)"
            " SELECT 1, 'deployment', 'shop/work-' || w, 'm' || w % 9, 'n' || w % 999, 1, w"
            "   FROM generate_series(1, 100000) w"
        )
        await operator.execute(
            "INSERT INTO ledger.past_placements"
            " (fleet, kind, subject, cluster, node, count, from_position, until_position, fork)"
            " SELECT 1, 'deployment', 'shop/work-' || w % 999, 'm' || w % 9, 'n' || w % 999, 1,"
            "        w, w + 1, w + 1 FROM generate_series(1, 100000) w"
        )
        await operator.execute(
            "INSERT INTO ledger.placed_by (fleet, kind, subject, number, from_position)"
            " SELECT 1, 'deployment', 'shop/work-' || w, w, w FROM generate_series(1, 100000) w"
        )
        await operator.execute(
            "INSERT INTO ledger.past_placed_by"
            " (fleet, kind, subject, number, from_position, until_position, fork)"
            " SELECT 1, 'deployment', 'shop/work-' || w % 999, w, w, w + 1, w + 1"
            "   FROM generate_series(1, 100000) w"
        )
        await operator.execute(
            "VACUUM ANALYZE ledger.placements, ledger.past_placements,"
            " ledger.placed_by, ledger.past_placed_by"
        )

        plan = await planned(reader, f"SELECT * FROM ledger_api.{source} WHERE {condition}")
    finally:
        await operator.close()
        await reader.close()

    assert index in {node.get("Index Name") for node in plan}
    whole = {node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan"}
    assert not {"past_placements", "past_placed_by"} & whole
    if asked != "all then":
        assert not {"placements", "placed_by"} & whole


@pytest.mark.parametrize("source", ["placements", "placements_as_of('small', 70000)"])
async def test_a_small_fleet_is_asked_about_without_reading_a_large_one(
    database_url: str, source: str
) -> None:
    operator = await connect(database_url, None)
    reader = await connect(database_url, "ledger_reader")
    try:
        for number, name, places in ((1, "small", 100), (2, "large", 100000)):
            await operator.execute(
                "INSERT INTO ledger.fleets (number, name, clock) VALUES ($1, $2, 'wall')",
                *(number, name),
            )
            await operator.execute(
                "INSERT INTO ledger.placements"
                " (fleet, kind, subject, cluster, node, count, from_position)"
                " SELECT $1, 'deployment', 'shop/work-' || w, 'm' || w % 9, 'n' || w % 999, 1, w"
                "   FROM generate_series(1, $2::bigint) w",
                *(number, places),
            )
            await operator.execute(
                "INSERT INTO ledger.placed_by (fleet, kind, subject, number, from_position)"
                " SELECT $1, 'deployment', 'shop/work-' || w, w, w"
                "   FROM generate_series(1, $2::bigint) w",
                *(number, places),
            )
        await operator.execute("VACUUM ANALYZE ledger.placements, ledger.placed_by")

        plan = await planned(reader, f"SELECT * FROM ledger_api.{source} WHERE fleet = 'small'")
    finally:
        await operator.close()
        await reader.close()

    whole = {node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan"}
    assert not {"placements", "placed_by"} & whole


@pytest.mark.parametrize(
    "asked", ["true", "cluster = 'm1'", "node = 'n1'", "count > 1 AND number > 1"]
)
async def test_places_and_their_decisions_are_never_compared_each_with_each(
    database_url: str, asked: str
) -> None:
    """However few of them Postgres takes them for: here it knows nothing of any."""
    reader = await connect(database_url, "ledger_reader")
    try:
        plan = await planned(
            reader, f"SELECT * FROM ledger_api.placements_as_of('test', 70000) WHERE {asked}"
        )
    finally:
        await reader.close()

    joined = {node["Node Type"] for node in plan if node.get("Join Type") == "Full"}
    assert joined
    assert joined <= {"Hash Join", "Merge Join"}

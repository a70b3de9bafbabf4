"""A few of the runs of ``tests.replay.tampering``; ``tests/README.md`` has the command for many."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from ledger.replay.report import Divergence
from ledger.replay.taken import OF_FLEETS
from tests.postgres import Postgres
from tests.replay.tampering import BESIDE, KEYS, UNSEEN, Arena, arena

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.postgres]

SEEDS = [
    *range(1, 6),
    *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 25)),
]

OF_DEMO = "fleet = (SELECT number FROM ledger.fleets WHERE name = 'demo')"

PAGE = Path(__file__).parents[2] / "docs/verify.md"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tampered(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Arena]:
    """A ledger with something in every table."""
    async with arena(postgres, tmp_path_factory.mktemp("signer")) as made:
        yield made


async def test_what_nobody_touched_is_whole(tampered: Arena) -> None:
    assert await tampered.verified() is None


async def test_who_may_only_read_can_verify_all_of_it(tampered: Arena) -> None:
    await tampered.connection.execute("SET ROLE ledger_signer")
    try:
        assert await tampered.verified() is None
    finally:
        await tampered.connection.execute("RESET ROLE")


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_change_that_matters_is_found_where_it_is(tampered: Arena, seed: int) -> None:
    found = await tampered.run(seed)
    assert found.good, found.line()


@pytest.mark.parametrize(
    ("change", "trouble"),
    [
        pytest.param(
            f"DELETE FROM ledger.heads WHERE {OF_DEMO} AND tree = 'decisions' AND size ="
            f" (SELECT min(size) FROM ledger.heads WHERE {OF_DEMO} AND tree = 'decisions')",
            "decision_root_mismatch",
            id="the head behind a batch",
        ),
        pytest.param(
            f"DELETE FROM ledger.decided WHERE {OF_DEMO} AND decisions ="
            f" (SELECT min(decisions) FROM ledger.decided WHERE {OF_DEMO} AND decisions > 0)",
            "cursor_mismatch",
            id="a batch in which something was decided",
        ),
        pytest.param(
            f"UPDATE ledger.decided SET epoch = epoch + 100 WHERE {OF_DEMO} AND through ="
            f" (SELECT max(through) FROM ledger.decided WHERE {OF_DEMO})",
            "cursor_mismatch",
            id="a turn that nobody has had yet",
        ),
        pytest.param(
            f"UPDATE ledger.decided SET epoch = 0 WHERE {OF_DEMO} AND through ="
            f" (SELECT max(through) FROM ledger.decided WHERE {OF_DEMO})",
            "cursor_mismatch",
            id="a turn that was over",
        ),
        pytest.param(
            f"DELETE FROM ledger.heads WHERE {OF_DEMO} AND tree = 'events' AND size ="
            f" (SELECT max(size) FROM ledger.heads WHERE {OF_DEMO} AND tree = 'events')",
            "event_root_mismatch",
            id="the newest head",
        ),
        pytest.param(
            "UPDATE ledger.receipts SET last_digest = sha256('x') WHERE number = 0",
            "receipt_mismatch",
            id="the digest of a last record that was set aside",
        ),
        pytest.param(
            "UPDATE ledger.admission_answers SET answer = set_byte(answer, 40, 33) WHERE uid = 'u2'",
            "row_differs",
            id="what an API server was told",
        ),
        pytest.param(
            "DELETE FROM ledger.admission_answers WHERE uid = 'u2'",
            "row_missing",
            id="that an API server was told something",
        ),
        pytest.param(
            "UPDATE ledger.admission_answers SET bypassed = false WHERE uid = 'late'",
            "row_differs",
            id="that an admission was answered without a decision",
        ),
        pytest.param(
            "DELETE FROM ledger.admission_answers WHERE uid = 'u4'",
            "row_missing",
            id="what was decided and not given",
        ),
        pytest.param(
            "INSERT INTO ledger.admission_answers SELECT fleet, 'nobody', position, bypassed, answer"
            "  FROM ledger.admission_answers WHERE uid = 'u2'",
            "row_unexpected",
            id="an answer to nobody",
        ),
        pytest.param(
            "INSERT INTO ledger.admission_answers SELECT 77, uid, position, bypassed, answer"
            "  FROM ledger.admission_answers WHERE uid = 'u2'",
            "row_unexpected",
            id="an answer of a fleet that there is not",
        ),
        pytest.param(
            "UPDATE ledger.receipts SET first = first - 1 WHERE number = 2",
            "receipt_mismatch",
            id="where a receipt began, between two records",
        ),
        pytest.param(
            "UPDATE ledger.receipts SET next = next + 1 WHERE number = 2",
            "receipt_mismatch",
            id="where a receipt ended, between two records",
        ),
        pytest.param(
            "UPDATE ledger.quarantine_outcomes SET outcome = 'discarded', released_position = NULL"
            " WHERE quarantined = (SELECT min(quarantined) FROM ledger.quarantine_outcomes"
            "                       WHERE outcome = 'released')",
            "row_missing",
            id="that a message was let in",
        ),
        pytest.param(
            "UPDATE ledger.quarantine_outcomes SET outcome = 'released', released_position = 1"
            " WHERE outcome = 'discarded'",
            "row_differs",
            id="that a message was discarded",
        ),
        pytest.param(
            "UPDATE ledger.snapshots SET incarnation = incarnation + 1 WHERE number ="
            " (SELECT min(number) FROM ledger.snapshots)",
            "snapshot_mismatch",
            id="in which life a snapshot was written",
        ),
    ],
)
async def test_what_two_tables_say_is_held_together(
    tampered: Arena, change: str, trouble: str
) -> None:
    found = await after(tampered, change)
    assert found is not None
    assert found.trouble == trouble


A_PLACE = f"(SELECT min(subject) FROM ledger.placements WHERE {OF_DEMO} AND kind = 'deployment')"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            f"UPDATE ledger.placements SET from_position = from_position - 1 WHERE ctid ="
            f" (SELECT min(ctid) FROM ledger.placements WHERE {OF_DEMO} AND subject = {A_PLACE})",
            id="since when so many are there",
        ),
        pytest.param(
            f"UPDATE ledger.placements SET count = count + 1 WHERE ctid ="
            f" (SELECT min(ctid) FROM ledger.placements WHERE {OF_DEMO} AND subject = {A_PLACE})",
            id="how many are there",
        ),
        pytest.param(
            f"UPDATE ledger.placed_by SET from_position = from_position - 1 WHERE {OF_DEMO}"
            f" AND kind = 'deployment' AND subject = {A_PLACE}",
            id="since when a decision is in force",
        ),
        pytest.param(
            f"DELETE FROM ledger.placed_by WHERE {OF_DEMO}"
            f" AND kind = 'deployment' AND subject = {A_PLACE}",
            id="which decision is in force",
        ),
    ],
)
async def test_places_are_told_with_their_decision(tampered: Arena, change: str) -> None:
    by = await tampered.connection.fetchrow(
        f"SELECT number, position FROM ledger.decisions d WHERE {OF_DEMO} AND number ="
        f" (SELECT number FROM ledger.placed_by WHERE {OF_DEMO} AND kind = 'deployment'"
        f"     AND subject = {A_PLACE})"
    )
    found = await after(tampered, change)

    assert by is not None
    assert found is not None
    assert (found.decision, found.position) == tuple(by)


@pytest.mark.parametrize(
    ("change", "trouble", "place"),
    [
        pytest.param(
            f"UPDATE ledger.events SET position = position + 100 WHERE {OF_DEMO}"
            " AND position = 464",
            "position_missing",
            {"position": 464},
            id="an event behind the end",
        ),
        pytest.param(
            f"UPDATE ledger.decisions SET number = number + 100 WHERE {OF_DEMO} AND number = 150",
            "decision_leaf_mismatch",
            {"decision": 150},
            id="a decision behind the end",
        ),
        pytest.param(
            "INSERT INTO ledger.decisions SELECT fleet, number + 200, incarnation, position, kind,"
            "  subject, algorithm, version, branch, moved, previous_number, result, reasons, record, digest"
            f"  FROM ledger.decisions WHERE {OF_DEMO} AND number = 150",
            "decision_root_mismatch",
            {"decision": 350},
            id="a decision behind the end, of which none is missing",
        ),
        pytest.param(
            "UPDATE ledger.quarantine SET channel = 'http' WHERE channel = 'kafka'"
            " AND position = (SELECT min(position) FROM ledger.quarantine WHERE channel = 'kafka')",
            "row_differs",
            {"path": "quarantine.channel", "recorded": "http", "recomputed": "kafka"},
            id="by which way a message came that was set aside",
        ),
        pytest.param(
            "UPDATE ledger.quarantine SET channel = 'http' WHERE topic = 'late.jsonl' AND coordinate = 1",
            "row_differs",
            {"path": "quarantine.channel", "recorded": "http", "recomputed": "file"},
            id="by which way lines of a file came",
        ),
        pytest.param(
            "UPDATE ledger.quarantine SET channel = 'kafka' WHERE topic = 'agent-east'",
            "row_differs",
            {"path": "quarantine.channel", "recorded": "kafka", "recomputed": "http"},
            id="by which way somebody's message came",
        ),
        pytest.param(
            "UPDATE ledger.quarantine SET topic = 'agent-west' WHERE topic = 'agent-east'",
            "row_differs",
            {
                "path": "quarantine.coordinate",
                "recorded": "http/agent-west@0",
                "recomputed": "http/agent-east@0",
            },
            id="who sent it",
        ),
        pytest.param(
            "UPDATE ledger.receipts SET next = next + 100 WHERE number = 4",
            "receipt_mismatch",
            {
                "subject": "ledger.everything/0 receipt 5",
                "recorded": "1 records of 241 to 242",
                "recomputed": "from 341, where receipt 4 ends",
            },
            id="a receipt that ends behind the beginning of the next",
        ),
        pytest.param(
            "UPDATE ledger.receipts SET next = next + 7 WHERE number = 3",
            "receipt_mismatch",
            {
                "subject": "ledger.everything/0 receipt 4",
                "recorded": "from 188",
                "recomputed": "from 195, where receipt 3 ends, of nothing",
            },
            id="a receipt that ends behind where a person let the partition go on from",
        ),
        pytest.param(
            "UPDATE ledger.receipts SET epoch = 5 WHERE number = 2",
            "receipt_mismatch",
            {
                "subject": "ledger.everything/0 receipt 3",
                "recorded": "epoch 4",
                "recomputed": "an epoch from 5, as of receipt 2, to 7",
            },
            id="a receipt of a later turn than the next",
        ),
        *(
            pytest.param(
                f"INSERT INTO ledger.{past} SELECT * FROM ledger.{past} WHERE {OF_DEMO} LIMIT 1",
                "row_unexpected",
                {"path": past},
                id=f"a row of {past} that is there already",
            )
            for past in ("past_placements", "past_fair_shares", "past_shared_totals")
        ),
        pytest.param(
            "INSERT INTO ledger.tile_hashes SELECT fleet, tree, level, number - 13, hash"
            f"  FROM ledger.tile_hashes WHERE {OF_DEMO} AND tree = 'events' AND number = 0",
            "row_unexpected",
            {"path": "tile_hashes", "subject": "events 1 -13"},
            id="a subtree before the beginning",
        ),
        pytest.param(
            "INSERT INTO ledger.checkpoints"
            " SELECT fleet, incarnation, tree, -13, root, note, signed_at FROM ledger.checkpoints"
            f" WHERE {OF_DEMO} AND tree = 'events' ORDER BY size LIMIT 1",
            "row_unexpected",
            {"path": "checkpoints", "subject": "1 events -13"},
            id="a signed end before the beginning",
        ),
        pytest.param(
            "INSERT INTO ledger.checkpoints"
            " SELECT fleet, -12, tree, size, root, note, signed_at FROM ledger.checkpoints"
            f" WHERE {OF_DEMO} AND tree = 'both' AND incarnation = 1 ORDER BY size LIMIT 1",
            "row_unexpected",
            {"path": "checkpoints", "subject": "-12 both 320"},
            id="a note of a life before the first",
        ),
        pytest.param(
            "UPDATE ledger.checkpoints SET note = set_byte(note, 0, 124)"
            f" WHERE {OF_DEMO} AND tree = 'events' AND size = 160",
            "checkpoint_mismatch",
            {
                "position": 160,
                "recorded": "|edger.example/demo/1/events did not sign it",
                "recomputed": "a checkpoint of .../demo/1/events",
            },
            id="whose log a signed end says that it is of",
        ),
        pytest.param(
            f"UPDATE ledger.heads SET recorded_at_micros = 1 WHERE {OF_DEMO}"
            " AND tree = 'decisions' AND size = 116",
            "clock_mismatch",
            {"position": None, "decision": 116, "recorded": "1", "recomputed": "(absent)"},
            id="when a head of decisions was recorded, which it never says",
        ),
        *(
            pytest.param(
                f"UPDATE ledger.incarnations SET {column} = {value} WHERE {OF_DEMO}"
                f" AND incarnation = {life}",
                "incarnation_mismatch",
                {
                    "position": 0 if life == 1 else 480,
                    "subject": str(life),
                    "path": f"incarnations.{column}",
                },
                id=f"the {column} of life {life}: {value}",
            )
            for life, column, value in (
                # No event began the first one.
                (1, "said", "'{}'"),
                (1, "revision", "1"),
                (1, "taken", "'{}'"),
                (1, "reason", "'open'"),
                (2, "said", "set_byte(said, 20, 33)"),
                (2, "revision", "revision + 1"),
                (2, "revision", "NULL"),
                (2, "reason", "'testz'"),
                (2, "taken", "'[]'"),
                (2, "taken", """jsonb_set(taken, '{ledger.everything,receipt}', '-2')"""),
                (2, "taken", """jsonb_set(taken, '{ledger.everything,receipt}', '100')"""),
                (2, "taken", """jsonb_set(taken, '{ledger.everything,receipt}', '1.0')"""),
                (2, "taken", """jsonb_set(taken, '{ledger.everything,partition}', '1')"""),
                (2, "taken", """taken || '{"ledger.cluster": {"partition": 0, "receipt": -1}}'"""),
            )
        ),
        pytest.param(
            "INSERT INTO ledger.decided SELECT fleet, -7, decisions, epoch, decided_at"
            f"  FROM ledger.decided WHERE {OF_DEMO} ORDER BY through LIMIT 1",
            "row_unexpected",
            {"path": "decided", "subject": "-7"},
            id="a batch before the beginning",
        ),
    ],
)
async def test_of_a_change_that_shows_in_several_places_the_first_is_named(
    tampered: Arena, change: str, trouble: str, place: dict[str, object]
) -> None:
    found = await after(tampered, change)
    assert found is not None
    assert found.trouble == trouble
    assert {name: getattr(found, name) for name in place} == place


async def after(tampered: Arena, change: str) -> Divergence | None:
    """What is found when one row was changed so; the change is undone."""
    undone = tampered.connection.transaction(isolation="repeatable_read")
    await undone.start()
    try:
        await tampered.connection.execute("SET LOCAL session_replication_role = replica")
        done = await tampered.connection.execute(change)
        assert done.split()[-1] == "1", done
        return await tampered.verified()
    finally:
        await undone.rollback()


@pytest.mark.long
@pytest.mark.parametrize("what", [f"{table} dropped" for table in sorted(KEYS)])
async def test_a_row_that_is_gone_is_missed_unless_the_page_says_otherwise(
    tampered: Arena, what: str
) -> None:
    if what.partition(" ")[0] in tampered.tables:
        found = await tampered.run(1, what)
        assert found.good, found.line()


@pytest.mark.long
@pytest.mark.parametrize("what", sorted(UNSEEN))
async def test_what_is_said_to_go_unnoticed_does(tampered: Arena, what: str) -> None:
    for seed in range(40):
        found = await tampered.run(seed, what)
        if found.trouble is None:
            return
    pytest.fail(f"{what} is found each time: docs/verify.md need not list it")


async def test_the_page_lists_what_may_go_unnoticed_and_no_more() -> None:
    assert _listed("| what | is |") == UNSEEN
    assert _listed("| table | a row says |") == BESIDE


def _listed(head: str) -> dict[str, str]:
    """The rows of the table of the page under this head."""
    (table,) = re.findall(rf"{re.escape(head)}\n\|---\|---\|\n((?:\|.*\n)+)", PAGE.read_text())
    rows = [line.strip("|").split("|") for line in table.splitlines()]
    return {what.strip(" `"): why.strip() for what, why in rows}


async def test_every_table_is_looked_at_or_said_not_to_be(tampered: Arena) -> None:
    rows = await tampered.connection.fetch(
        "SELECT relname FROM pg_class"
        " WHERE relnamespace IN ('ledger'::regnamespace, 'ledger_api'::regnamespace)"
        "   AND relkind IN ('r', 'p') AND NOT relispartition"
    )
    assert {row["relname"] for row in rows} == KEYS.keys() | BESIDE.keys()


async def test_no_row_of_a_fleet_that_there_is_not_is_overlooked(tampered: Arena) -> None:
    rows = await tampered.connection.fetch(
        "SELECT table_name FROM information_schema.columns"
        " WHERE table_schema = 'ledger' AND column_name = 'fleet' AND data_type = 'integer'"
        "   AND table_name = ANY($1::text[])",
        list(KEYS),
    )
    assert {row["table_name"] for row in rows} == set(OF_FLEETS)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger.fleets SET name = 'demi' WHERE name = 'demo'",
        "UPDATE ledger.fleets SET number = 77 WHERE name = 'demo'",
        "UPDATE ledger.fleets SET clock = 'event' WHERE name = 'other'",
        f"UPDATE ledger.leases SET epoch = 0 WHERE {OF_DEMO} AND duty = 'decide'",
        "DELETE FROM ledger.partition_epochs WHERE epoch = 7",
        "DELETE FROM ledger.partition_pins WHERE fleet = 'demo'",
    ],
)
async def test_what_another_row_contradicts_is_found_in_tables_that_are_not_looked_at(
    tampered: Arena, change: str
) -> None:
    assert await after(tampered, change) is not None


SAID: Final = {
    "append_locks": "INSERT INTO ledger.append_locks VALUES (99, 'events')",
    "archived_ranges": "INSERT INTO ledger.archived_ranges VALUES (99, 0, 9, 'events_000000')",
    "fleet_readers": "INSERT INTO ledger.fleet_readers VALUES ('eve', '*')",
    "fleet_stops": "INSERT INTO ledger.fleet_stops SELECT number, 2, 'signer', 'any', 'any'"
    "  FROM ledger.fleets WHERE name = 'demo'",
    "fleets": "UPDATE ledger.fleets SET created_at = created_at - interval '1 year' WHERE name = 'demo'",
    "leases": f"UPDATE ledger.leases SET holder = 'eve' WHERE {OF_DEMO} AND duty = 'decide'",
    "partition_epochs": "INSERT INTO ledger.partition_epochs VALUES ('ledger.everything', 0, 99, 'eve')",
    "partition_halts": "INSERT INTO ledger.partition_halts (topic, partition, halted, reason, detail, by)"
    " VALUES ('ledger.everything', 0, true, 'any', 'any', 'eve')",
    "partition_locks": "INSERT INTO ledger.partition_locks VALUES ('any', 0)",
    "partition_pins": "INSERT INTO ledger.partition_pins (fleet, topic, partition, confirmed_by)"
    " VALUES ('other', 'any', 0, 'eve')",
    "published": "INSERT INTO ledger.published SELECT number, 90, 1 FROM ledger.fleets WHERE name = 'demo'",
    "schema_version": "UPDATE ledger.schema_version SET version_num = '9999'",
    "source_bindings": "INSERT INTO ledger.source_bindings VALUES ('eve', 'demo')",
    "standbys": "INSERT INTO ledger.standbys VALUES (1, 'decide', 'eve', now(), now())",
}
"""A row of each table that nothing else repeats, made or changed."""


@pytest.mark.parametrize("table", sorted(BESIDE))
async def test_a_table_that_is_not_looked_at_keeps_nobody_from_looking_at_others(
    tampered: Arena, table: str
) -> None:
    undone = tampered.connection.transaction(isolation="repeatable_read")
    await undone.start()
    try:
        await tampered.connection.execute("SET LOCAL session_replication_role = replica")
        done = await tampered.connection.execute(SAID[table])
        assert done.split()[-1] == "1", done
        assert await tampered.verified() is None, "the page says that nobody could tell"

        found = await after(
            tampered,
            "UPDATE ledger.past_placements SET count = count + 1 WHERE ctid ="
            f" (SELECT min(ctid) FROM ledger.past_placements WHERE {OF_DEMO})",
        )
        assert found is not None
        assert (found.trouble, found.path) == ("row_differs", "past_placements.count")
    finally:
        await undone.rollback()

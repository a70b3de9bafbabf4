"""What was in force at a position is what was seen there, however the events were batched."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg
import pytest

from ledger.engine import decider
from ledger.engine.decider import Pace
from ledger.log import lines
from ledger.log.database import connect
from tests.engine.deciding import decide_all
from tests.engine.test_deployments_in_sql import rows
from tests.engine.test_proposals_in_sql import (
    approval_line,
    disk_line,
    request_line,
    volume_line,
)
from tests.engine.test_the_book_in_sql import Story
from tests.engine.test_the_book_in_sql import story as books
from tests.postgres import Postgres

STATES: Final = (
    *("placements", "running_tasks", "fair_shares", "open_refusals", "refusals", "proposals"),
    "open_incidents",
    *("disk_books", "job_books", "queue_books"),
)

ONE_BY_ONE: Final = Pace(events=1)
ALL_AT_ONCE: Final = Pace(events=10_000, soon_seconds=math.inf, behind_seconds=math.inf)


def jobs() -> Story:
    """Jobs that come, end, are lost with their node, change their queue and make room for others."""
    told = Story()
    told.cluster("m1")
    told.node("n1", cpu="1", memory=100)
    told.node("n2", cpu="1", memory=100)
    for queue in ("q", "p"):
        told.add("quota", "queue.upserted", queue, {"name": queue})
    for name, replicas, cpu in (("a", 3, "500m"), ("b", 2, "400m"), ("c", 4, "200m")):
        told.workload(
            *(name, replicas),
            kind="Job",
            queue="q",
            cluster=None,
            deploy=None,
            request={"cpu": cpu, "memory": 1},
        )
    done = {"namespace": "shop", "name": "a"}
    told.add("workload", "job.finished", "shop/a", {**done, "task": 1})
    told.node_gone("n1")
    told.node("n1", cpu="3", memory=100)
    told.workload(
        *("b", 1),
        kind="Job",
        queue="p",
        cluster=None,
        deploy=None,
        request={"cpu": "400m", "memory": 1},
    )
    told.add("workload", "job.finished", "shop/a", done)
    told.add("workload", "workload.removed", "shop/c", {"namespace": "shop", "name": "c"})
    return told


def divisions() -> Story:
    """A workload that is refused, divided, edited twice, and goes."""
    told = Story()
    for weights in ({"m1": 1}, {"m1": 1, "m2": 2}, {"m2": 1}, {"m1": 1, "m2": 2}):
        told.workload("cart", 9, cluster=None, division={"weights": weights}, deploy=None)
        told.cluster("m1")
        told.cluster("m2")
    told.add("cluster", "cluster.removed", "m2", {"name": "m2"})
    told.add("workload", "workload.removed", "shop/cart", {"namespace": "shop", "name": "cart"})
    told.workload("cart", 2, cluster=None, division={"weights": {"m1": 1}}, deploy=None)
    return told


def proposals() -> Story:
    """Proposals that are carried out, replaced, withdrawn, refused or stay open."""
    told = Story()
    told.lines = [
        disk_line(1, "n1"),
        *(volume_line(number, name) for number, name in enumerate(("pa", "pb", "pc"), 2)),
        disk_line(5, "n2"),
        request_line(6),
        request_line(7),
        disk_line(8, "n2", schedulable=False),
        approval_line(9, 4),
        disk_line(10, "n2"),
        request_line(11),
        approval_line(12, 5),
        request_line(13, subject="pa"),
    ]
    return told


STORIES: Final = {"books": books, "jobs": jobs, "divisions": divisions, "proposals": proposals}


@asynccontextmanager
async def decided(
    postgres: Postgres, story: Story, pace: Pace, *, watched: bool
) -> AsyncIterator[asyncpg.Connection]:
    """A database in which a story was decided; ``watched`` keeps what each transaction left to see."""
    async with postgres.database() as url:
        connection = await connect(url, None)
        try:
            if watched:
                await watch(connection)
            await lines.ingest(connection, story.lines)
            await decider.decide(
                url, holder="tests", until_idle=True, stop=asyncio.Event(), pace=pace
            )
            yield connection
        finally:
            await connection.close()


async def watch(connection: asyncpg.Connection) -> None:
    for state in STATES:
        await connection.execute(
            f"CREATE TABLE public.seen_{state} AS SELECT 0::bigint AS seen_at, v.*"
            f" FROM ledger_api.{state} v WITH NO DATA"
        )
    looking = " ".join(
        f"INSERT INTO public.seen_{state} SELECT NEW.through, v.* FROM ledger_api.{state} v;"
        for state in STATES
    )
    await connection.execute(
        "CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
        f" AS $$BEGIN {looking} RETURN NULL; END$$"
    )
    await connection.execute(
        "CREATE TRIGGER look AFTER INSERT ON ledger.decided FOR EACH ROW"
        " EXECUTE FUNCTION public.look()"
    )


async def as_of(
    connection: asyncpg.Connection, state: str, through: int
) -> dict[int, list[tuple[Any, ...]]]:
    return {
        position: sorted(
            await rows(connection, f"SELECT * FROM ledger_api.{state}_as_of('test', {position})"),
            key=repr,
        )
        for position in range(through + 1)
    }


@pytest.mark.parametrize("name", STORIES)
async def test_as_of_a_position_is_what_was_seen_there(postgres: Postgres, name: str) -> None:
    story = STORIES[name]()
    async with (
        decided(postgres, story, ONE_BY_ONE, watched=True) as slow,
        decided(postgres, story, ALL_AT_ONCE, watched=False) as fast,
    ):
        through = await slow.fetchval("SELECT max(through) FROM ledger.decided WHERE fleet = 1")
        assert through >= len(story.lines) - 1
        assert await fast.fetchval("SELECT max(through) FROM ledger.decided") == through
        assert await slow.fetchval("SELECT count(*) FROM ledger.decided") == through + 1
        assert await fast.fetchval("SELECT count(*) FROM ledger.decided") < through

        for state in STATES:
            seen: dict[int, list[tuple[Any, ...]]] = {at: [] for at in range(through + 1)}
            for at, *row in await rows(slow, f"SELECT * FROM public.seen_{state}"):
                seen[at].append(tuple(row))
            wanted = {at: sorted(those, key=repr) for at, those in seen.items()}

            assert await as_of(slow, state, through) == wanted, state
            assert await as_of(fast, state, through) == wanted, state


async def refused(connection: asyncpg.Connection, query: str) -> tuple[str | None, str]:
    with pytest.raises(asyncpg.PostgresError) as error:
        await connection.fetch(query)
    return error.value.sqlstate, str(error.value)


async def test_what_is_not_decided_or_not_there_is_refused_and_times_take_what_is_decided(
    postgres: Postgres,
) -> None:
    story = divisions()
    async with decided(postgres, story, ALL_AT_ONCE, watched=False) as connection:
        asked = "SELECT * FROM ledger_api.{state}_as_of('{fleet}', {position})"
        (row,) = await rows(connection, "SELECT decided_through FROM ledger_api.fleets")
        through = row[0]
        before = {
            state: sorted(
                await rows(connection, asked.format(state=state, fleet="test", position=through)),
                key=repr,
            )
            for state in (*STATES, "fleets")
        }
        assert before["placements"]
        assert before["refusals"]
        story.workload("late", 2, cluster=None, division={"weights": {"m1": 1}}, deploy=None)
        await lines.ingest(connection, story.lines)

        for state in (*STATES, "fleets"):
            for position in (through + 1, 1_000_000, 2**63 - 1):
                code, said = await refused(
                    connection, asked.format(state=state, fleet="test", position=position)
                )
                assert code == "LG016", state
                assert said == (
                    f"fleet test: position {position} is not decided;"
                    f" the newest that is, is {through}"
                )
            code, said = await refused(
                connection, asked.format(state=state, fleet="tset", position=0)
            )
            assert code == "LG017", state
            assert said == "fleet tset: there is none of this name that you may see"
            at = f"SELECT * FROM ledger_api.{state}_at('test', '2999-01-01')"
            assert sorted(await rows(connection, at), key=repr) == before[state], state


@pytest.mark.parametrize("form", ["lateral", "correlated"])
async def test_several_fleets_asked_for_together_are_each_told_of_their_own(
    postgres: Postgres, form: str
) -> None:
    # A subquery for the number of a fleet was answered for the first of them, and so were all.
    async with postgres.database() as url:
        connection = await connect(url, None)
        try:
            for fleet, story in STORIES.items():
                told = [line.replace(b'"test"', f'"{fleet}"'.encode()) for line in story().lines]
                await lines.ingest(connection, told)
            await decide_all(url)

            moments = "(SELECT f.fleet, at FROM ledger_api.fleets f, generate_series(0, f.decided_through) at) f"
            for state in (*STATES, "fleets"):
                called = f"ledger_api.{state}_as_of(f.fleet, f.at)"
                together = {
                    "lateral": f"SELECT t::text FROM {moments}, LATERAL {called} t",
                    "correlated": f"SELECT unnest(ARRAY(SELECT t::text FROM {called} t)) FROM {moments}",
                }
                one_by_one = [
                    row
                    for fleet in STORIES
                    for row in await rows(
                        connection,
                        f"SELECT t::text FROM {moments}, LATERAL {called} t WHERE f.fleet = '{fleet}'",
                    )
                ]
                assert one_by_one, state
                assert sorted(await rows(connection, together[form])) == sorted(one_by_one), state
        finally:
            await connection.close()


async def test_before_the_first_event_there_was_nothing(postgres: Postgres) -> None:
    async with decided(postgres, divisions(), ALL_AT_ONCE, watched=False) as connection:
        said = "events, decisions, decided_through, last_recorded_at, open_refusals"
        for position in ("-1", "-5", str(-(2**63)), "NULL"):
            for state in STATES:
                asked = f"SELECT * FROM ledger_api.{state}_as_of('test', {position})"
                assert await rows(connection, asked) == [], (state, position)
            asked = f"SELECT {said} FROM ledger_api.fleets_as_of('test', {position})"
            assert await rows(connection, asked) == [(0, 0, None, None, 0)], position
        asked = f"SELECT {said} FROM ledger_api.fleets_at('test', '2000-01-01')"
        assert await rows(connection, asked) == [(0, 0, None, None, 0)]


async def test_a_fleet_as_of_a_position_is_the_fleet_that_it_was(postgres: Postgres) -> None:
    async with decided(postgres, divisions(), ONE_BY_ONE, watched=False) as connection:
        now = await rows(
            connection,
            "SELECT events, decisions, event_root, decision_root, decided_through, last_recorded_at,"
            " open_refusals FROM ledger_api.fleets",
        )
        decided_by = await rows(
            connection,
            "SELECT t.through + 1, t.decisions, t.through,"
            " (SELECT recorded_at FROM ledger_api.events e WHERE e.position = t.through)"
            " FROM ledger.decided t ORDER BY t.through",
        )
        for events, decisions, through, recorded_at in decided_by:
            asked = f"FROM ledger_api.fleets_as_of('test', {through})"
            assert await rows(
                connection,
                f"SELECT events, decisions, decided_through, last_recorded_at {asked}",
            ) == [(events, decisions, through, recorded_at)]
        assert now == await rows(
            connection,
            "SELECT events, decisions, event_root, decision_root, decided_through, last_recorded_at,"
            f" open_refusals FROM ledger_api.fleets_as_of('test', {through})",
        )

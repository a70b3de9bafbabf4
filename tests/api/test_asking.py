"""Questions over HTTP: then as now, explain, diff, and the long ones, which are jobs."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from ledger import client
from ledger.api.jobs import MOST_WAITING
from ledger.log import lines
from ledger.log.database import connect
from tests.api.serving import Answered, Service, serving
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import until
from tests.postgres import Postgres

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.postgres]

WEIGHTS = {"c1": 1, "c2": 2}
SCALED = 3
"""The position at which the workload is scaled."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(postgres: Postgres) -> AsyncIterator[str]:
    """A log of a workload that was divided and then scaled."""
    async with postgres.database() as own:
        connection = await connect(own, "ledger_writer")
        for fleet in ("mine", "theirs"):
            told = [cluster_line(number, fleet=fleet) for number in (1, 2)]
            told += [
                workload_line(number, replicas=replicas, fleet=fleet, name="w", weights=WEIGHTS)
                for number, replicas in ((1, 3), (2, 9))
            ]
            await lines.ingest(connection, told)
        await connection.close()
        await decide_all(own)
        yield own


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with serving(url, tmp_path_factory.mktemp("serve")) as running:
        yield running


async def printed(url: str, *arguments: str) -> Any:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", *arguments, "--json", "--database-url", url),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    return json.loads(said)


async def placed(service: Service, as_of: str) -> dict[str, int]:
    page = await service.ask("GET", f"/v1/fleets/mine/placements{as_of}")
    assert page.status == 200, page.body
    return {one["cluster"]: one["count"] for one in page.json["items"]}


async def test_what_was_in_force_is_told_of_positions_and_times(service: Service) -> None:
    assert await placed(service, "") == {"c1": 3, "c2": 6}
    assert await placed(service, f"?as_of={SCALED}") == {"c1": 3, "c2": 6}
    assert await placed(service, f"?as_of={SCALED - 1}") == {"c1": 1, "c2": 2}
    assert await placed(service, "?as_of=0") == {}
    assert await placed(service, "?as_of=2999-01-01T00:00:00Z") == {"c1": 3, "c2": 6}
    assert await placed(service, "?as_of=1999-01-01T00:00:00Z") == {}
    answer = await service.ask("GET", "/v1/fleets/mine/placements?as_of=1000000")
    assert (answer.status, answer.code) == (400, "invalid_parameter")
    assert "position 1000000 is not decided" in answer.json["detail"]
    answer = await service.ask("GET", "/v1/fleets/mine/placements?as_of=yesterday")
    assert (answer.status, answer.code) == (422, "invalid_parameter")


async def test_explaining_is_what_the_command_says(service: Service, url: str) -> None:
    told = await service.ask("GET", "/v1/fleets/mine/explain?what=shop/w&check=true&why_not=c3")

    assert told.status == 200, told.body
    wanted = await printed(
        url, "explain", "shop/w", "--fleet", "mine", "--check", "--why-not", "c3"
    )
    assert told.json == wanted


async def test_a_difference_is_what_the_command_says(service: Service, url: str) -> None:
    told = await service.ask("GET", f"/v1/fleets/mine/diff?from={SCALED - 1}&to={SCALED}")

    assert told.json == await printed(url, "diff", str(SCALED - 1), str(SCALED), "--fleet", "mine")
    (change,) = told.json["changes"]
    assert (change["before"], change["after"]) == ({"c1": 1, "c2": 2}, {"c1": 3, "c2": 6})


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("mine/explain?what=shop/nobody", (404, "unknown_subject")),
        ("mine/explain?what=999", (404, "unknown_decision")),
        ("mine/explain?what=shop/w&kind=thing", (400, "invalid_parameter")),
        ("mine/explain?what=shop/w&at=then", (400, "invalid_parameter")),
        ("mine/explain", (422, "invalid_parameter")),
        ("mine/diff?from=3&to=2", (400, "invalid_parameter")),
        ("absent/explain?what=1", (404, "unknown_fleet")),
        ("mine/explain?what=absent/1/0", (404, "unknown_fleet")),
        ("absent/diff?from=0&to=1", (404, "unknown_fleet")),
    ],
)
async def test_a_question_that_means_nothing_is_refused_by_name(
    service: Service, path: str, wanted: tuple[int, str]
) -> None:
    answer = await service.ask("GET", f"/v1/fleets/{path}")

    assert (answer.status, answer.code) == wanted


async def start(
    service: Service, asked: dict[str, Any], *, fleet: str = "mine", token: str = "operate-token"
) -> Answered:
    body = json.dumps(asked).encode()
    return await service.ask("POST", f"/v1/fleets/{fleet}/jobs", body, token=token)


async def ended(service: Service, job: str) -> Any:
    async def over() -> bool:
        told = await service.ask("GET", f"/v1/jobs/{job}")
        return told.json["ended_at"] is not None

    await until(over, seconds=120, every=0.2)
    return (await service.ask("GET", f"/v1/jobs/{job}")).json


async def test_a_replay_is_a_job_that_says_how_far_it_is(service: Service, url: str) -> None:
    started = await start(service, {"kind": "replay"})
    assert started.status == 202, started.body
    assert started.headers["location"] == f"/v1/jobs/{started.json['id']}"

    job = await ended(service, started.json["id"])

    assert (job["state"], job["exit_code"], job["problem"]) == ("done", 0, None)
    assert {"phase": "replay", "done": 4, "of": 4} in job["progress"]
    assert job["result"] == await printed(url, "replay", "--fleet", "mine", "--workers", "1")


async def test_what_would_have_been_is_a_job(service: Service) -> None:
    asked = {"kind": "what-if", "weights": ["shop/w:c1=2,c2=1"], "from": "2"}
    job = await ended(service, (await start(service, asked)).json["id"])

    assert (job["state"], job["exit_code"], job["asked"]) == ("done", 1, asked)
    assert job["result"]["asked"]["weights"] == ["shop/w:c1=2,c2=1"]
    assert job["result"]["same"] is False


async def test_settings_that_nobody_knows_end_a_job_with_the_reason(service: Service) -> None:
    asked = {"kind": "what-if", "settings": {"division": {"inertia": "heavy"}}}
    job = await ended(service, (await start(service, asked)).json["id"])

    assert (job["state"], job["result"]) == ("failed", None)
    assert "division.inertia" in job["problem"]


async def test_jobs_wait_their_turn_and_can_be_ended(service: Service) -> None:
    first = (await start(service, {"kind": "replay"}, fleet="theirs")).json["id"]
    waiting = [await start(service, {"kind": "replay"}) for _ in range(MOST_WAITING + 1)]
    assert waiting[-1].status == 429
    assert waiting[-1].code == "busy"

    for job in [first, *(one.json["id"] for one in waiting[:-1])]:
        answer = await service.ask("DELETE", f"/v1/jobs/{job}")
        assert answer.status == 204
        told = await service.ask("GET", f"/v1/jobs/{job}")
        assert told.json["state"] in {"cancelled", "done"}


async def test_a_job_is_told_to_nobody_who_may_not_see_its_fleet(service: Service) -> None:
    theirs = (await start(service, {"kind": "replay"}, fleet="theirs")).json["id"]

    for method in ("GET", "DELETE"):
        hidden = await service.ask(method, f"/v1/jobs/{theirs}", token="scoped-token")
        assert (hidden.status, hidden.code) == (404, "unknown_job")
    listed = await service.ask("GET", "/v1/jobs", token="scoped-token")
    assert theirs not in {job["id"] for job in listed.json["jobs"]}
    foreign = await start(service, {"kind": "replay"}, fleet="theirs", token="scoped-token")
    assert (foreign.status, foreign.code) == (403, "wrong_fleet")
    reader = await start(service, {"kind": "replay"}, token="read-token")
    assert (reader.status, reader.code) == (403, "wrong_role")
    await service.ask("DELETE", f"/v1/jobs/{theirs}")


async def test_the_client_asks_and_waits(service: Service) -> None:
    def asked() -> None:
        with client.Client(f"http://{service.host}:{service.port}", "operate-token") as ledger:
            told = ledger.explain("mine", "shop/w", at=SCALED - 1)
            assert told["subject"] == "shop/w"
            assert ledger.diff("mine", 0, SCALED)["changes"]
            assert [one["count"] for one in ledger.placements("mine", as_of=2)] == [1, 2]
            job = ledger.answered(ledger.replay("mine", to=SCALED))
            assert (job["state"], job["result"]["diverged"]) == ("done", None)
            ledger.cancel(job["id"])
            assert ledger.job(job["id"])["state"] == "done"

    await asyncio.to_thread(asked)

"""The read side: pages, marks, streams, and that nobody reads of a fleet that is not theirs."""

import asyncio
import http.client
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from ledger import client
from ledger.log import lines
from ledger.log.database import connect
from tests.api.serving import Service, serving
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, policy_line, workload_line
from tests.postgres import Postgres

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORKLOADS = 7


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(postgres: Postgres) -> AsyncIterator[str]:
    """A log with two fleets that are decided, and something in quarantine of each."""
    async with postgres.database() as own:
        connection = await connect(own, "ledger_writer")
        for fleet in ("mine", "theirs"):
            await lines.ingest(
                connection,
                [cluster_line(number, fleet=fleet) for number in (1, 2)]
                + [
                    workload_line(
                        number,
                        replicas=3,
                        fleet=fleet,
                        name=f"w{number}",
                        weights={"c1": 1, "c2": 2},
                    )
                    for number in range(WORKLOADS)
                ]
                + [cluster_line(9, fleet=fleet, subject="wrong")],
            )
        await connection.close()
        await decide_all(own)
        yield own


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with serving(url, tmp_path_factory.mktemp("serve")) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "/v1/fleets/mine/placements?as-of=2",
            "query.as-of: nobody knows it here; it takes as_of, ",
        ),
        ("/v1/fleets/mine/placements?as_of=2&as_of=3", "query.as_of: it is there 2 times"),
        ("/v1/fleets/mine/placements?as_of=2&", None),
        ("/v1/fleets/mine/decisions?as_of=2", "it takes cursor, kind, limit, subject"),
        ("/v1/fleets/mine/decisions/0?at=2", "it takes none"),
        ("/v1/fleets/mine/decisions-stream?from=2", "it takes after"),
        ("/v1/fleets/mine/explain?what=0&why-not=c1", "query.why-not"),
        ("/v1/fleets/mine/diff?from=0&to=1&at=2", "it takes from, to"),
        ("/v1/fleets/mine/fair-shares?queue=q", "query.queue"),
        ("/v1/fleets?fleet=mine", "query.fleet"),
        ("/v1/jobs?kind=replay", "query.kind"),
        ("/v1/quarantine?reason=not_json", "it takes cursor, everything, limit"),
        ("/v1/incidents?fleet=mine", "query.fleet"),
        ("/livez?probe=1", None),
    ],
)
async def test_a_query_says_nothing_that_nobody_looks_at(
    service: Service, path: str, said: str | None
) -> None:
    answer = await service.ask("GET", path)

    if said is None:
        assert answer.status == 200, answer.body
    else:
        assert (answer.status, answer.code) == (422, "invalid_parameter")
        assert said in answer.json["detail"]


async def test_neither_does_the_query_of_what_changes_something(service: Service) -> None:
    for path, body in (
        ("/v1/events?fleet=mine", b"[]"),
        ("/v1/fleets/mine/jobs?kind=replay", b"{}"),
        ("/v1/quarantine/0/release?why=x", b"{}"),
        ("/v1/quarantine/0/discard?why=x", b"{}"),
    ):
        answer = await service.ask("POST", path, body)
        assert (answer.status, answer.code) == (422, "invalid_parameter"), path
        assert "it takes none" in answer.json["detail"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/fleets",
        "/v1/fleets/mine/placements",
        "/v1/fleets/mine/decisions/0",
        "/v1/quarantine",
        "/livez",
        "/openapi.json",
    ],
)
async def test_head_is_told_what_get_is_told_without_the_answer(
    service: Service, path: str
) -> None:
    whole = await service.ask("GET", path)
    head = await service.ask("HEAD", path)

    assert (head.status, head.body) == (200, b"")
    told = [{**one.headers, "date": "now"} for one in (whole, head)]
    assert told[0] == told[1]
    assert int(told[1]["content-length"]) == len(whole.body)


async def test_head_of_what_is_not_there_or_not_asked_for_so_is_no_other_than_get(
    service: Service,
) -> None:
    stream = await service.ask("HEAD", "/v1/fleets/mine/decisions-stream")
    absent = await service.ask("HEAD", "/v1/fleets/absent/decisions")
    posted = await service.ask("HEAD", "/v1/events")
    deleted = await service.ask("DELETE", "/v1/fleets")

    assert (stream.status, stream.body) == (200, b"")
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert (absent.status, absent.body) == (404, b"")
    assert (posted.status, posted.headers["allow"]) == (405, "POST")
    assert (deleted.status, deleted.headers["allow"]) == (405, "GET, HEAD")


async def test_pages_hold_every_row_once_in_order(service: Service) -> None:
    for what, key in (("placements", "subject"), ("decisions", "number")):
        whole = await service.ask("GET", f"/v1/fleets/mine/{what}?limit=500")
        assert whole.status == 200, whole.body
        found: list[object] = []
        cursor: str | None = ""
        while cursor is not None:
            after = f"&cursor={cursor}" if cursor else ""
            page = await service.ask("GET", f"/v1/fleets/mine/{what}?limit=2{after}")
            found += page.json["items"]
            cursor = page.json["next"]

        assert found == whole.json["items"]
        assert len(found) >= WORKLOADS
        keys = [one[key] for one in whole.json["items"]]
        assert keys == sorted(keys)


async def test_one_decision_tells_its_reasons_and_who_was_weighed(service: Service) -> None:
    listed = await service.ask("GET", "/v1/fleets/mine/decisions?subject=shop/w3")
    (one,) = listed.json["items"]

    told = await service.ask("GET", f"/v1/fleets/mine/decisions/{one['number']}")

    assert {name: told.json[name] for name in one} == one
    assert {weighed["candidate"] for weighed in told.json["candidates"]} == {"c1", "c2"}


async def test_what_has_not_changed_is_not_sent_again(service: Service) -> None:
    first = await service.ask("GET", "/v1/fleets/mine/placements")
    tag = first.headers["etag"]

    again = await service.ask("GET", "/v1/fleets/mine/placements", headers={"If-None-Match": tag})

    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)


async def test_a_fleet_of_somebody_else_is_not_shown(service: Service) -> None:
    fleets = await service.ask("GET", "/v1/fleets", token="scoped-token")
    theirs = await service.ask("GET", "/v1/fleets/theirs/decisions", token="scoped-token")
    aside = await service.ask("GET", "/v1/quarantine", token="scoped-token")
    every = await service.ask("GET", "/v1/quarantine")
    other = next(one for one in every.json["items"] if one["fleet"] == "theirs")
    settled = await service.ask(
        "POST",
        f"/v1/quarantine/{other['position']}/discard",
        b'{"why": "no"}',
        token="scoped-token",
    )

    assert [fleet["fleet"] for fleet in fleets.json["fleets"]] == ["mine"]
    assert (theirs.status, theirs.code) == (403, "wrong_fleet")
    assert {one["fleet"] for one in aside.json["items"]} == {"mine"}
    assert (settled.status, settled.code) == (403, "wrong_fleet")


async def test_what_cannot_be_asked_is_said_by_name(service: Service) -> None:
    async def refused(path: str, method: str = "GET") -> tuple[int, str]:
        answer = await service.ask(method, path)
        return answer.status, answer.code

    assert await refused("/v1/fleets/absent/decisions") == (404, "unknown_fleet")
    assert await refused("/v1/fleets/mine/decisions/999") == (404, "unknown_decision")
    assert await refused("/v1/fleets/mine/decisions?cursor=abc") == (400, "invalid_cursor")
    assert await refused("/v1/fleets/mine/decisions?limit=0") == (422, "invalid_parameter")
    assert await refused("/v1/fleets/mine/decisions?kind=%00") == (422, "invalid_parameter")
    assert await refused("/v1/fleets/MINE/decisions") == (422, "invalid_parameter")
    assert await refused("/v2/anything") == (404, "unknown_route")
    assert await refused("/v1/fleets", "DELETE") == (405, "wrong_method")


async def test_numbers_wider_than_64_bits_are_told_as_they_are(service: Service, url: str) -> None:
    wide = 2**70 + 1
    decision = "/v1/fleets/theirs/decisions/90"
    owner = await connect(url, None)
    # A row beside the log: a round whose shares are that exact takes a fleet to itself.
    await owner.execute(
        "INSERT INTO ledger.decisions (fleet, number, incarnation, position, kind, subject,"
        " algorithm, version, branch, moved, previous_number, result, reasons, record, digest)"
        " SELECT fleet, 90, incarnation, position, kind, subject, algorithm, version, branch,"
        " moved, NULL, jsonb_build_object('share', $1::numeric), jsonb_build_array($1::numeric),"
        " record, digest FROM ledger.decisions"
        " WHERE number = 0 AND fleet = (SELECT number FROM ledger.fleets WHERE name = 'theirs')",
        wide,
    )
    await owner.close()

    one = await service.ask("GET", decision)
    page = await service.ask("GET", "/v1/fleets/theirs/decisions?kind=division")
    path = "/v1/fleets/theirs/decisions-stream?after=89"
    ((_, told),) = await asyncio.to_thread(streamed, service, path, None, 1)

    for found in (one.json, page.json["items"][-1], told):
        assert (found["result"], found["reasons"]) == ({"share": wide}, [wide])


@pytest.mark.parametrize(
    "as_of", ["0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59"]
)
async def test_a_moment_that_is_in_no_year_is_refused(service: Service, as_of: str) -> None:
    answer = await service.ask("GET", f"/v1/fleets/mine/placements?as_of={as_of}")

    assert answer.status < 500
    if as_of != "9999-12-31T23:59:59":
        assert (answer.status, answer.code) == (422, "invalid_parameter")


@pytest.mark.parametrize(
    ("asked", "begins"),
    [
        ("diff?from=%20&to=1", "from  :"),
        ("diff?from=0&to=x", "to x:"),
        ("diff?from=0001-01-01T00:00:00%2B14:00&to=1", "from 0001-"),
        ("explain?what=shop/w1&at=0001-01-01T00:00:00Z", "at 0001-"),
        ("explain?what=shop/w1&at=999999999", "at 999999999:"),
    ],
)
async def test_a_refusal_names_what_was_asked_for_by_its_parameter(
    service: Service, asked: str, begins: str
) -> None:
    answer = await service.ask("GET", f"/v1/fleets/mine/{asked}")

    assert (answer.status, answer.code) == (400, "invalid_parameter")
    assert answer.json["detail"].startswith(begins)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
async def test_a_number_that_json_does_not_have_is_refused(service: Service, number: str) -> None:
    what_if = f'{{"kind": "what-if", "settings": {{"a": [{number}]}}}}'.encode()
    corrected = f'{{"why": "fixed", "corrected": {{"a": {number}}}}}'.encode()

    job = await service.ask("POST", "/v1/fleets/mine/jobs", what_if)
    released = await service.ask("POST", "/v1/quarantine/0/release", corrected)

    assert (job.status, job.code) == (422, "out_of_range")
    assert (released.status, released.code) == (422, "out_of_range")


async def test_nobody_is_sent_elsewhere(service: Service) -> None:
    answer = await service.ask("GET", "/v1/fleets/", headers={"Host": "evil.example"})

    assert (answer.status, answer.code) == (404, "unknown_route")
    assert "location" not in answer.headers


def streamed(
    service: Service, path: str, last: str | None, count: int
) -> list[tuple[int, dict[str, object]]]:
    """The first decisions of a stream: the number that each has in its id, and what it says."""
    connection = http.client.HTTPConnection(service.host, service.port, timeout=60)
    headers = {"Authorization": "Bearer read-token"}
    if last is not None:
        headers["Last-Event-ID"] = last
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    assert response.status == 200
    found: list[tuple[int, dict[str, object]]] = []
    number = -1
    while len(found) < count:
        line = response.readline().decode().rstrip("\n")
        if line.startswith("id: "):
            number = int(line.removeprefix("id: 1/"))
        if line.startswith("data: "):
            found.append((number, json.loads(line.removeprefix("data: "))))
    connection.close()
    return found


async def test_a_stream_goes_on_where_it_was_cut_off(service: Service) -> None:
    listed = (await service.ask("GET", "/v1/fleets/mine/decisions")).json["items"]
    path = "/v1/fleets/mine/decisions-stream?after=-1"

    whole = await asyncio.to_thread(streamed, service, path, None, len(listed))
    rest = await asyncio.to_thread(streamed, service, path, "1/2", len(listed) - 3)

    assert [told for _, told in whole] == listed
    assert [number for number, _ in whole] == list(range(len(listed)))
    assert rest == whole[3:]


async def test_the_client_asks_for_all_of_it(service: Service) -> None:
    def asked() -> None:
        url = f"http://{service.host}:{service.port}"
        with client.Client(url, "operate-token") as ledger:
            assert [fleet["fleet"] for fleet in ledger.fleets()] == ["mine", "theirs"]
            decisions = list(ledger.decisions("mine"))
            assert ledger.decision("mine", 0)["number"] == decisions[0]["number"] == 0
            assert len(list(ledger.placements("mine", subject="shop/w1"))) == 2
            assert list(ledger.incidents()) == []
            assert list(ledger.fair_shares("mine")) == []
            (told,) = ledger.send([json.loads(policy_line(5, fleet="mine"))])
            assert told.outcome == "appended"
            aside = next(one for one in ledger.quarantine() if one["fleet"] == "mine")
            corrected = json.loads(cluster_line(9, fleet="mine"))
            released = ledger.release(aside["position"], why="fixed", corrected=corrected)
            assert released["fleet"] == "mine"
            every = {one["position"]: one for one in ledger.quarantine(everything=True)}
            told_of = every[aside["position"]]
            assert (told_of["outcome"], told_of["settled_why"]) == ("released", "fixed")
            assert (aside["settled_by"], aside["settled_at"]) == (None, None)
            assert told_of["settled_by"]
            assert told_of["settled_at"] >= told_of["quarantined_at"]
            with pytest.raises(client.Refused, match="not_settled"):
                ledger.discard(aside["position"], why="again")
            with pytest.raises(client.Refused, match="unknown_fleet"):
                list(ledger.decisions("absent"))

    await asyncio.to_thread(asked)

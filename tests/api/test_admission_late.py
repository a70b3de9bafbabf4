"""What becomes of pods to whom nothing is decided in time: left, recorded before that is said, free again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from time import perf_counter
from typing import Final

import pytest
import pytest_asyncio

from ledger.admission import answering, asking
from ledger.api import connections
from ledger.engine.decider import decide
from ledger.log import admissions, fleets
from ledger.log.admissions import Bypass
from ledger.log.database import connect
from ledger.replay.deep import deep
from ledger.units import FleetName
from tests.api.admitting import (
    CLUSTER,
    FLEET,
    Json,
    Webhook,
    classes,
    deployment,
    hooked,
    pod,
    replicaset,
    review,
    told,
)
from tests.feeding import until
from tests.postgres import Postgres

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHOP: Final = FleetName(FLEET)

LATE: Final = ["ledger: no decision came in time, the pod is left as it is"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def webhook(postgres: Postgres) -> AsyncIterator[Webhook]:
    """One beside which nobody decides, unless a test does."""
    async with postgres.database() as own, hooked(own, decides=False) as running:
        await running.tell(told("cluster.cluster.upserted", CLUSTER, {"name": CLUSTER}))
        yield running


async def split(webhook: Webhook, name: str, replicas: int, wanted: str) -> Json:
    """A pod of a Deployment whose pods are about to be created."""
    await webhook.tell(deployment(name, replicas, wanted), replicaset(name, "7", replicas))
    return pod(("ReplicaSet", f"{name}-7"))


@asynccontextmanager
async def deciding(webhook: Webhook) -> AsyncIterator[None]:
    """Somebody decides as long as the block runs."""
    stop = asyncio.Event()
    task = asyncio.create_task(decide(webhook.url, holder="tests", until_idle=False, stop=stop))
    try:
        yield
    finally:
        stop.set()
        await task


@asynccontextmanager
async def locked(webhook: Webhook) -> AsyncIterator[None]:
    """Nobody can append as long as the block runs."""
    connection = await connect(webhook.url, "ledger_writer")
    try:
        fleet = await fleets.find(connection, SHOP)
        assert fleet is not None
        async with connection.transaction():
            await connection.fetch("SELECT ledger.lock_tree($1, 'events')", fleet.number)
            yield
    finally:
        await connection.close()


async def reasons(webhook: Webhook, asked: Json) -> list[str]:
    """Why a review was answered without a decision, as often as the log says so."""
    rows = await webhook.rows(
        "SELECT convert_from(payload, 'utf8')::jsonb -> 'data' ->> 'reason' FROM ledger.events"
        " WHERE type = 'ledger.workload.admission.bypassed.v1' AND subject = $1",
        asked["request"]["uid"],
    )
    return [reason for (reason,) in rows]


async def is_asked(webhook: Webhook, asked: Json) -> bool:
    rows = await webhook.rows("SELECT 1 FROM ledger.events WHERE id = $1", asked["request"]["uid"])
    return bool(rows)


async def is_answered(webhook: Webhook, asked: Json) -> bool:
    rows = await webhook.rows(
        "SELECT 1 FROM ledger.admission_answers WHERE uid = $1", asked["request"]["uid"]
    )
    return bool(rows)


async def test_a_burst_that_is_late_is_recorded_before_it_is_answered_in_few_commits(
    webhook: Webhook,
) -> None:
    created = await split(webhook, "burst", 250, "7")
    asked = [review(created) for _ in range(250)]
    before = await webhook.rows("SELECT count(*) FROM ledger.heads WHERE tree = 'events'")
    began = perf_counter()

    answers = await asyncio.gather(*(webhook.mutate(one, query="timeout=3s") for one in asked))

    took = perf_counter() - began
    ((recorded,),) = await webhook.rows(
        "SELECT count(*) FROM ledger.admission_answers JOIN ledger.events USING (fleet, position)"
        " WHERE bypassed AND type = 'ledger.workload.admission.bypassed.v1'"
    )
    after = await webhook.rows("SELECT count(*) FROM ledger.heads WHERE tree = 'events'")
    assert all(answer.warnings == LATE and answer.operations == [] for answer in answers)
    assert recorded == 250
    assert took < 3
    assert after[0][0] - before[0][0] < 50
    async with deciding(webhook):
        again = await asyncio.gather(*(webhook.mutate(one) for one in asked))
        next_ = await webhook.mutate(review(created))
    assert [answer.body for answer in again] == [answer.body for answer in answers]
    assert classes([next_]) == ["od"]


async def test_what_is_sent_before_the_log_could_be_told_is_told_whatever_stands_there_then(
    webhook: Webhook,
) -> None:
    created = await split(webhook, "raced", 3, "1")
    asked = review(created)
    waiting = asyncio.create_task(webhook.mutate(asked, query="timeout=2s"))
    await until(lambda: is_asked(webhook, asked))

    async def is_told() -> bool:
        return await reasons(webhook, asked) == ["deadline"]

    async with AsyncExitStack() as later:
        async with locked(webhook):
            sent = await waiting
            # The decider appends nothing, so its decision comes first.
            await later.enter_async_context(deciding(webhook))
            await until(lambda: is_answered(webhook, asked))
            assert await reasons(webhook, asked) == []
        await until(is_told)
        next_ = await webhook.mutate(review(created))
    assert (sent.operations, sent.warnings) == ([], LATE)
    assert classes([next_]) == ["od"]


async def test_a_decision_that_came_while_the_log_is_told_is_what_stands(
    webhook: Webhook,
) -> None:
    asked = review(await split(webhook, "just-in-time", 3, "1"))
    async with deciding(webhook):
        answer = await webhook.mutate(asked)
    uid = asked["request"]["uid"]
    event = asking.bypassed(uid, "deadline", fleet=SHOP, cluster=CLUSTER)

    async with webhook.desks.one() as desk:
        fleet = await desk.find(SHOP)
        assert fleet is not None
        stands = await desk.bypass(fleet, [Bypass(uid, event, b"ours", sent=False)])

    assert stands == {uid: answer.body}
    assert await reasons(webhook, asked) == []


async def test_a_log_in_which_nothing_can_be_written_is_told_later_and_the_answer_stays(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admissions, "COMMIT_SECONDS", 0.2)
    created = await split(webhook, "shut", 3, "1")
    asked = review(created)
    async with locked(webhook):
        sent = await webhook.mutate(asked)
        assert await reasons(webhook, asked) == []

    async def is_told() -> bool:
        return await reasons(webhook, asked) == ["log_unavailable"]

    await until(is_told)
    async with deciding(webhook):
        again, next_ = [await webhook.mutate(one) for one in (asked, review(created))]
    assert sent.warnings == ["ledger: the log cannot be reached, the pod is left as it is"]
    assert again.body == sent.body
    assert classes([next_]) == ["od"]


async def test_where_too_much_is_asked_at_once_that_is_recorded(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = await split(webhook, "crowded", 3, "1")
    asked = review(created)
    monkeypatch.setattr(connections, "PATIENCE_SECONDS", 0.05)
    async with AsyncExitStack() as taken:
        for _ in range(4):
            await taken.enter_async_context(webhook.desks.one())
        answer = await webhook.mutate(asked)

    assert answer.warnings == ["ledger: too much is asked at once, the pod is left as it is"]
    assert await reasons(webhook, asked) == ["busy"]
    assert (await webhook.mutate(asked)).body == answer.body


async def test_whoever_is_asked_after_it_was_given_up_takes_no_slot(webhook: Webhook) -> None:
    created = await split(webhook, "given-up", 3, "1")
    asked = review(created)
    # So late that its question does not even stand in the log.
    async with AsyncExitStack() as taken:
        for _ in range(4):
            await taken.enter_async_context(webhook.desks.one())
        late = await webhook.mutate(asked, query="timeout=1s")
        assert not await is_asked(webhook, asked)

    async with deciding(webhook):
        again, next_ = [await webhook.mutate(one) for one in (asked, review(created))]

    assert again.body == late.body
    assert await is_asked(webhook, asked)
    assert classes([next_]) == ["od"]


async def test_where_an_answer_does_not_fit_its_pod_the_slot_is_free(webhook: Webhook) -> None:
    created = await split(webhook, "misfit", 3, "1")
    asked = review(created)
    async with deciding(webhook):
        first = await webhook.mutate(asked)
        # Under the same uid, and so with the same answer, comes a pod that lacks what it adds to.
        del asked["request"]["object"]["metadata"]["labels"]
        answer = await webhook.mutate(asked)
        again = await webhook.mutate(asked)
        next_ = await webhook.mutate(review(created))

    assert classes([first]) == ["od"]
    assert (
        answer.body
        == again.body
        == answering.bypassed(SHOP, asked["request"]["uid"], "patch_inapplicable")
    )
    assert await reasons(webhook, asked) == ["patch_inapplicable"]
    assert classes([next_]) == ["od"]


async def test_an_answer_that_would_replace_what_another_pod_says_is_not_given(
    webhook: Webhook,
) -> None:
    created = await split(webhook, "overwritten", 3, "1")
    asked = review(created)
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    async with deciding(webhook):
        first = await webhook.mutate(asked)
        asked["request"]["object"]["spec"]["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [zone]}]
                }
            }
        }
        answer = await webhook.mutate(asked)

    assert first.operations[0]["path"] == "/spec/affinity"
    assert answer.operations == []
    assert await reasons(webhook, asked) == ["patch_inapplicable"]


async def test_all_of_that_can_be_verified(webhook: Webhook) -> None:
    async with deciding(webhook):
        await webhook.mutate(review(await split(webhook, "last", 3, "1")))
    connection = await connect(webhook.url, None)
    try:
        fleet = await fleets.find(connection, SHOP)
        assert fleet is not None

        report = await deep(connection, fleet)
    finally:
        await connection.close()

    assert report.diverged is None

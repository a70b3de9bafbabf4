"""The vectors of spot.jsonl as an API server would come by them: reviews in, patches and classes out."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio

from tests.api.admitting import (
    CLUSTER,
    Answer,
    Json,
    Webhook,
    deployment,
    hooked,
    pod,
    policy,
    replicaset,
    review,
    told,
)
from tests.postgres import Postgres

pytestmark = pytest.mark.asyncio(loop_scope="module")

VECTORS: Final[list[Json]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "vectors" / "spot.jsonl").read_text().splitlines()
]

RESERVATION: Final = "distributed-scheduling/reservation"


def comes_by(vector: Json) -> bool:
    """Whether any admission comes to what a vector of ``spot.patch`` asks.

    A StatefulSet's pods have no reservation, and a lone replica is never on spot by our will.
    """
    asked = vector["input"]
    if asked["mode"] in {"ordinal", "single_sts"}:
        return asked["reservation"] is None and asked["spot_tolerations"] is None
    return bool(asked["reservation"]) and (asked["mode"], asked["class"]) != ("single", "spot")


PATCHES: Final = [one for one in VECTORS if one["op"] == "spot.patch" and comes_by(one)]

TOLD: Final = {"admit", "pod_seen", "count", "scale", "annotate", "rs_replicas"}
"""Steps that clusters tell. Of the others some need a minute to pass, and a list is asked for here."""

SEQUENCES: Final = [
    one
    for one in VECTORS
    if one["op"] == "spot.sequence"
    and {step["op"] for step in one["input"]["steps"]} <= TOLD
    and one["input"].get("kind") == "Deployment"
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def webhook(postgres: Postgres) -> AsyncIterator[Webhook]:
    async with postgres.database() as url, hooked(url) as running:
        await running.tell(told("cluster.cluster.upserted", CLUSTER, {"name": CLUSTER}))
        yield running


def named(what: Any, names: dict[str, str]) -> Any:
    """A vector's expectation with the reservations' real names."""
    if isinstance(what, dict):
        return {key: named(value, names) for key, value in what.items()}
    if isinstance(what, list):
        return [named(one, names) for one in what]
    return names.get(what, what) if isinstance(what, str) else what


async def flags(webhook: Webhook, answer: Answer) -> list[str]:
    """What the decision behind an answer says."""
    ((found,),) = await webhook.rows(
        "SELECT result ->> 'flags' FROM ledger_api.decisions WHERE fleet = 'shop' AND number = $1",
        int(answer.audit["number"]),
    )
    said: list[str] = json.loads(found)
    return said


async def test_most_vectors_can_be_come_by() -> None:
    assert len(PATCHES) >= 25
    assert len(SEQUENCES) >= 8


@pytest.mark.parametrize("vector", PATCHES, ids=[one["id"] for one in PATCHES])
async def test_a_pod_is_patched_as_the_vector_says(webhook: Webhook, vector: Json) -> None:
    asked, wanted = vector["input"], vector["expect"]["equals"]
    name = vector["id"].replace(".", "-")
    by_set = asked["mode"] in {"ordinal", "single_sts"}
    single = asked["mode"] in {"single", "single_sts"}
    if by_set:
        await webhook.tell(deployment(name, 1 if single else 5, "3", kind="StatefulSet"))
        ordinal = 0 if asked["class"] == "od" else 4
        about = pod(("StatefulSet", name), name=f"{name}-{ordinal}")
    else:
        await webhook.tell(
            deployment(name, 1 if single else 2, "2" if asked["class"] == "od" else "0"),
            replicaset(name, "7", 2),
        )
        about = pod(("ReplicaSet", f"{name}-7"))
    owners = about["metadata"]["ownerReferences"]
    given = json.loads(json.dumps(asked["pod"]))
    given["metadata"] |= {"ownerReferences": owners}
    given["metadata"] |= {"name": about["metadata"]["name"]} if by_set else {}
    if asked["spot_tolerations"]:
        await webhook.tell(policy(tolerations=asked["spot_tolerations"]))

    try:
        answer = await webhook.mutate(review(given))
    finally:
        if asked["spot_tolerations"]:
            await webhook.tell(policy(tolerations=None))

    names = {asked["reservation"]: answer.audit.get("reservation", "")}
    assert answer.operations == named(wanted["patch"], names)


@pytest.mark.parametrize("vector", SEQUENCES, ids=[one["id"] for one in SEQUENCES])
async def test_a_sequence_of_pods_is_split_as_the_vector_says(
    webhook: Webhook, vector: Json
) -> None:
    given = vector["input"]
    name = vector["id"].replace(".", "-")
    replicas, annotation = given["replicas"], given.get("annotation")
    await webhook.tell(deployment(name, replicas, annotation))
    names: dict[str, str] = {}
    hashes: dict[str, str] = {}
    answers: dict[str, Answer] = {}

    for step, wanted in zip(given["steps"], vector["expect"]["equals"]["results"], strict=True):
        match step["op"]:
            case "scale":
                replicas = step["replicas"]
                await webhook.tell(deployment(name, replicas, annotation))
            case "annotate":
                annotation = step["value"]
                await webhook.tell(deployment(name, replicas, annotation))
            case "rs_replicas":
                await webhook.tell(replicaset(name, step["hash"].lower(), step["n"]))
            case "pod_seen":
                await webhook.tell(
                    seen(name, hashes.get(step["reservation"], "a"), named(step, names))
                )
            case "admit":
                answer = await webhook.mutate(
                    review(
                        asking(name, step, names),
                        asked=f"{name}-{step['uid']}",
                        dry_run=step.get("dry_run", False),
                    )
                )
                if wanted["reservation"]:
                    names[wanted["reservation"]] = answer.audit["reservation"]
                    hashes[wanted["reservation"]] = step["hash"].lower()
                assert answer.audit.get("class") == wanted["class"], step
                assert answer.audit.get("reservation") == named(wanted["reservation"], names)
                if wanted.get("replayed"):
                    assert answer.body == answers[step["uid"]].body
                else:
                    assert set(wanted["flags"]) <= set(await flags(webhook, answer))
                answers[step["uid"]] = answer
            case _:
                assert step["op"] == "count", step


def asking(name: str, step: Json, names: dict[str, str]) -> Json:
    """The pod of an admission."""
    template = step["hash"].lower()
    notes = (
        {RESERVATION: names.get(step["carried"], step["carried"])} if step.get("carried") else None
    )
    value = {"od": "on-demand", "spot": "spot", None: None}[step.get("user_pin")]
    spec = {"nodeSelector": {"node.kubernetes.io/capacity": value}} if value else {}
    return pod(("ReplicaSet", f"{name}-{template}"), template, annotations=notes, spec=spec)


def seen(name: str, template: str, step: Json) -> bytes:
    """A pod that carries a reservation, as its cluster reports it."""
    reservation = step["reservation"]
    data = {
        "cluster": CLUSTER,
        "namespace": "shop",
        "name": f"{name}-{reservation.replace('/', '-')}",
        "owner": {"kind": "ReplicaSet", "name": f"{name}-{template}"},
        "template_hash": template,
        "reservation": reservation,
    }
    return told("workload.pod.observed", f"{CLUSTER}/shop/{data['name']}", data)

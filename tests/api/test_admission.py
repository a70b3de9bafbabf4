"""The webhook as an API server meets it: what pods are given, once, in time, and that it stops nobody."""

import asyncio
import json
from collections.abc import AsyncIterator
from time import perf_counter
from typing import Any

import pytest
import pytest_asyncio

from ledger.admission import answering, json_patch
from ledger.admission.json_patch import Inapplicable
from ledger.api import access, admitting
from ledger.api.access import Access, Caller
from ledger.api.admission import patience
from ledger.errors import SetupProblem
from tests.api.admitting import (
    CLUSTER,
    FLEET,
    Json,
    Webhook,
    classes,
    deployment,
    hooked,
    pod,
    policy,
    replicaset,
    review,
    told,
    uid,
)
from tests.feeding import until
from tests.postgres import Postgres

pytestmark = pytest.mark.asyncio(loop_scope="module")

RESERVATION = "distributed-scheduling/reservation"
DESIRED = "distributed-scheduling/desired-capacity"
COST = "controller.kubernetes.io/pod-deletion-cost"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(postgres: Postgres) -> AsyncIterator[str]:
    async with postgres.database() as own:
        yield own


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def webhook(url: str) -> AsyncIterator[Webhook]:
    async with hooked(url) as running:
        await running.tell(told("cluster.cluster.upserted", CLUSTER, {"name": CLUSTER}))
        yield running


async def split(webhook: Webhook, name: str, replicas: int, wanted: str | None) -> None:
    """A Deployment whose pods are about to be created."""
    await webhook.tell(deployment(name, replicas, wanted), replicaset(name, "7", replicas))


def of(name: str, **more: Any) -> Json:
    """A pod of such a Deployment."""
    return pod(("ReplicaSet", f"{name}-7"), **more)


async def test_the_first_pods_are_given_on_demand_and_the_others_a_preference_for_spot(
    webhook: Webhook,
) -> None:
    await split(webhook, "slots", 3, "1")
    created = of("slots")

    first, second = [await webhook.mutate(review(created)) for _ in range(2)]

    assert classes([first, second]) == ["od", "spot"]
    on_demand, spot = first.applied(created), second.applied(created)
    terms = on_demand["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["on-demand"]
    assert on_demand["metadata"]["labels"][DESIRED] == "on-demand"
    assert on_demand["metadata"]["annotations"] == {
        COST: "1",
        RESERVATION: first.audit["reservation"],
    }
    assert spot["metadata"]["annotations"] == {RESERVATION: second.audit["reservation"]}
    assert spot["spec"]["containers"] == created["spec"]["containers"]


async def test_an_answer_is_decided_and_on_disk_before_it_is_given(webhook: Webhook) -> None:
    await split(webhook, "durable", 2, "1")
    asked = review(of("durable"))

    answer = await webhook.mutate(asked)

    (row,) = await webhook.rows(
        "SELECT position, number, class, reservation FROM ledger_api.capacity_classes"
        " WHERE fleet = $1 AND admission_uid = $2",
        FLEET,
        asked["request"]["uid"],
    )
    audit = answer.audit
    assert row == (int(audit["position"]), int(audit["number"]), "od", audit["reservation"])
    assert answer.response["uid"] == asked["request"]["uid"]
    assert {part.split(";")[0] for part in answer.headers["server-timing"].split(", ")} == {
        *("read", "wait", "lock", "append", "decide", "reply")
    }


async def test_nothing_of_a_pod_is_recorded_that_no_answer_needs(webhook: Webhook) -> None:
    await split(webhook, "discreet", 2, "1")
    created = of("discreet", annotations={"owner": "somebody"}, labels={"team": "people"})

    await webhook.mutate(review(created))

    ((payload,),) = await webhook.rows(
        "SELECT convert_from(payload, 'utf8') FROM ledger.events WHERE subject = 'shop/discreet-7'"
    )
    for word in ("hush", "somebody", "people", "serviceaccount"):
        assert word not in payload


async def test_a_burst_is_split_exactly_with_less_than_a_commit_for_each(
    webhook: Webhook,
) -> None:
    await split(webhook, "burst", 60, "7")
    before = await webhook.rows("SELECT count(*) FROM ledger.heads WHERE tree = 'events'")

    answers = await asyncio.gather(*(webhook.mutate(review(of("burst"))) for _ in range(60)))

    assert classes(answers).count("od") == 7
    assert len({answer.audit["reservation"] for answer in answers}) == 60
    after = await webhook.rows("SELECT count(*) FROM ledger.heads WHERE tree = 'events'")
    assert after[0][0] - before[0][0] < 30


async def test_the_same_call_gets_the_same_bytes_wherever_it_is_made_again(
    webhook: Webhook, url: str
) -> None:
    await split(webhook, "again", 3, "1")
    asked = review(of("again"))
    first = await webhook.mutate(asked)
    before = await webhook.asked()

    again = await asyncio.gather(*(webhook.mutate(asked) for _ in range(4)))
    async with hooked(url, decides=False) as other:
        elsewhere = await other.mutate(asked)

    assert {answer.body for answer in (*again, elsewhere)} == {first.body}
    assert await webhook.asked() == before


async def test_a_call_that_is_made_twice_at_once_is_asked_once(webhook: Webhook) -> None:
    await split(webhook, "twice", 3, "1")
    asked = review(of("twice"))
    before = await webhook.asked()

    one, other = await asyncio.gather(webhook.mutate(asked), webhook.mutate(asked))

    assert one.body == other.body
    assert await webhook.asked() == before + 1


async def test_a_pod_that_is_asked_about_again_keeps_what_it_has(webhook: Webhook) -> None:
    await split(webhook, "reinvoked", 3, "1")
    created = of("reinvoked")
    first = await webhook.mutate(review(created))

    again = await webhook.mutate(review(first.applied(created)))
    next_ = await webhook.mutate(review(created))

    assert again.operations == []
    assert again.audit["reservation"] == first.audit["reservation"]
    assert classes([again, next_]) == ["od", "spot"]


async def test_a_dry_run_is_answered_and_takes_no_slot(webhook: Webhook) -> None:
    await split(webhook, "dry", 3, "1")

    dry = await webhook.mutate(review(of("dry"), dry_run=True))
    real = await webhook.mutate(review(of("dry")))

    assert classes([dry, real]) == ["od", "od"]
    assert "reservation" not in dry.audit
    assert RESERVATION not in json.dumps(dry.operations)


async def test_a_reservation_of_somebody_elses_pod_is_no_reservation(webhook: Webhook) -> None:
    await split(webhook, "copied", 3, "1")
    copied = of("copied", annotations={RESERVATION: "shop/1/999999"})

    answer = await webhook.mutate(review(copied))

    assert any("not its own" in warning for warning in answer.warnings)
    found = answer.applied(copied)["metadata"]["annotations"][RESERVATION]
    assert found == answer.audit["reservation"] != "shop/1/999999"


async def test_the_users_own_selector_counts(webhook: Webhook) -> None:
    await split(webhook, "pinned", 3, "1")
    pinned = of("pinned", spec={"nodeSelector": {"node.kubernetes.io/capacity": "spot"}})

    answer = await webhook.mutate(review(pinned))

    assert classes([answer]) == ["spot"]
    assert all(not one["path"].startswith("/spec") for one in answer.operations)
    assert any("selectors exclude it" in warning for warning in answer.warnings)


@pytest.mark.parametrize(
    ("name", "class_"), [("db-0", "od"), ("db-2", "od"), ("db-3", "spot"), ("db-4", "spot")]
)
async def test_pods_of_a_statefulset_go_by_their_place(
    webhook: Webhook, name: str, class_: str
) -> None:
    await webhook.tell(deployment("db", 5, "2", kind="StatefulSet"))

    answer = await webhook.mutate(review(pod(("StatefulSet", "db"), name=name)))

    assert classes([answer]) == [class_]
    assert answer.warnings == [
        "ledger: min-available of a StatefulSet was raised to more than half"
    ]


async def test_ordinals_begin_where_the_set_was_told_to(webhook: Webhook) -> None:
    await webhook.tell(deployment("db5", 5, "3", kind="StatefulSet", ordinals_start=5))

    answers = [
        await webhook.mutate(review(pod(("StatefulSet", "db5"), name=f"db5-{ordinal}")))
        for ordinal in range(5, 10)
    ]

    assert classes(answers) == ["od", "od", "od", "spot", "spot"]
    assert all(answer.warnings == [] for answer in answers)


async def test_an_ordinal_behind_the_last_is_warned_of_where_nobody_said_where_they_begin(
    webhook: Webhook,
) -> None:
    await webhook.tell(deployment("db9", 3, "2", kind="StatefulSet"))

    answer = await webhook.mutate(review(pod(("StatefulSet", "db9"), name="db9-5")))

    assert classes([answer]) == ["spot"]
    assert answer.warnings == [
        "ledger: the ordinal is not below the replicas: tell where the set's ordinals begin"
    ]


async def test_a_lone_replica_runs_on_demand(webhook: Webhook) -> None:
    await split(webhook, "lone", 1, None)

    answer = await webhook.mutate(review(of("lone")))

    assert answer.operations[0] == {
        "op": "add",
        "path": "/spec/nodeSelector",
        "value": {"node.kubernetes.io/capacity": "on-demand"},
    }


async def test_what_the_ledger_does_not_know_is_left_with_a_word(webhook: Webhook) -> None:
    answer = await webhook.mutate(review(of("nobody-told")))

    assert answer.operations == []
    assert answer.warnings == ["ledger: the workload is not known, the pod is left as it is"]


def _owned(**changed: Any) -> Json:
    about = pod()
    about["metadata"]["ownerReferences"][0] |= changed
    return about


BEYOND: dict[str, Json] = {
    "another group": review(_owned(apiVersion="argoproj.io/v1alpha1")),
    "no group": review(_owned(apiVersion="v1")),
    "a Job": review(_owned(kind="Job", apiVersion="batch/v1")),
    "a DaemonSet": review(_owned(kind="DaemonSet")),
    "an owner that does not control": review(_owned(controller=False)),
    "a static pod": review(pod(annotations={"kubernetes.io/config.mirror": "x"})),
    "a pod with a node": review(pod(spec={"nodeName": "n1"})),
    "a pod that is changed": review(pod(), operation="UPDATE"),
    "something else": review({"kind": "Service"}, resource=("", "services")),
    "a pod without an owner": review({"metadata": {}, "spec": {}}),
    "nothing at all": review({}),
}


@pytest.mark.parametrize("what", BEYOND)
async def test_what_is_not_split_is_left_and_not_recorded(webhook: Webhook, what: str) -> None:
    before = await webhook.asked()

    answer = await webhook.mutate(BEYOND[what])

    assert answer.response == {"uid": BEYOND[what]["request"]["uid"], "allowed": True}
    assert await webhook.asked() == before


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"hello", "no JSON"),
        (b"[]", "a AdmissionReview of admission.k8s.io/v1 belongs here"),
        (b'{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}', "belongs here"),
        (b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}', "no request"),
        (
            b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {}}',
            "no uid",
        ),
    ],
)
async def test_what_is_no_review_is_a_problem(webhook: Webhook, body: bytes, why: str) -> None:
    answer = await webhook.ask("/admission/v1/mutate", body)

    assert (answer.status, answer.json["code"]) == (400, "invalid_review")
    assert why in answer.json["detail"]


@pytest.mark.parametrize(
    ("token", "path", "status", "code"),
    [
        (None, "/admission/v1/mutate", 401, "unauthenticated"),
        ("guessed", "/admission/v1/mutate", 401, "unauthenticated"),
        ("reader", "/admission/v1/mutate", 403, "wrong_role"),
        ("every", "/admission/v1/mutate", 403, "wrong_fleet"),
        ("other", f"/admission/v1/mutate/{FLEET}/{CLUSTER}", 403, "wrong_fleet"),
        ("other", "/admission/v1/mutate/other/m2", 403, "wrong_cluster"),
        ("other", "/admission/v1/mutate", 404, "unknown_fleet"),
        ("every", "/admission/v1/mutate/_ledger/m1", 404, "unknown_fleet"),
        ("every", "/admission/v1/validate/absent/m1", 404, "unknown_fleet"),
        ("other", f"/admission/v1/validate/{FLEET}/{CLUSTER}", 403, "wrong_fleet"),
    ],
)
async def test_whoever_may_not_ask_is_told_so(
    webhook: Webhook, token: str | None, path: str, status: int, code: str
) -> None:
    answer = await webhook.ask(path, json.dumps(review(pod())).encode(), token=token)

    assert (answer.status, answer.json["code"]) == (status, code)


async def test_a_caller_for_every_fleet_names_one_in_the_address(webhook: Webhook) -> None:
    await split(webhook, "named", 2, "1")
    body = json.dumps(review(of("named"))).encode()

    answer = await webhook.ask(f"/admission/v1/mutate/{FLEET}/{CLUSTER}", body, token="every")

    assert classes([answer]) == ["od"]


async def test_an_api_server_without_a_token_may_be_let_in_for_one_cluster(url: str) -> None:
    anybody = Caller("anybody", frozenset({"admission"}), frozenset({FLEET}), CLUSTER)
    question = review(pod(spec={"nodeName": "n1"}))
    async with hooked(url, access=Access((), (), anybody), decides=False) as open_:
        let_in = await open_.mutate(question, token=None)
        guessed = await open_.mutate(question, token="guessed")
        elsewhere = await open_.ask("/v1/fleets", b"", token=None)

    assert let_in.response["allowed"]
    assert (guessed.status, elsewhere.status) == (401, 401)


@pytest.mark.parametrize(
    "entry",
    [
        {"anybody": True, "roles": ["admission"], "fleets": ["east"]},
        {"anybody": True, "roles": ["admission"], "cluster": "c1"},
        {"anybody": True, "roles": ["read"], "fleets": ["east"], "cluster": "c1"},
        {"anybody": 1, "roles": ["admission"], "fleets": ["east"], "cluster": "c1"},
        {"anybody": True, "roles": ["admission"], "fleets": ["e"], "cluster": "c", "sha256": "0"},
        {"sha256": "0" * 64, "roles": ["admission"], "cluster": "a/b"},
    ],
)
async def test_whoever_needs_no_token_is_named_narrowly(entry: Json, tmp_path: Any) -> None:
    path = tmp_path / "access.json"
    path.write_text(json.dumps([{"name": "somebody", **entry}]))

    with pytest.raises(SetupProblem):
        access.read(path)


async def test_without_a_decision_in_time_a_pod_is_left_and_its_slot_is_free(
    webhook: Webhook, postgres: Postgres
) -> None:
    async with postgres.database() as own:
        async with hooked(own, decides=False) as waiting:
            await waiting.tell(deployment("late", 3, "1"), replicaset("late", "7", 3))
            asked = review(of("late"))

            late = await waiting.mutate(asked, query="timeout=600ms")

            assert late.operations == []
            assert late.warnings == ["ledger: no decision came in time, the pod is left as it is"]
            assert await waiting.rows(
                "SELECT split_part(type, '.', 4) FROM ledger.events WHERE position > 1"
                " ORDER BY position"
            ) == [("requested",), ("bypassed",)]
        async with hooked(own) as deciding:
            again = await deciding.mutate(asked)
            next_ = await deciding.mutate(review(of("late")))

    assert again.body == late.body
    assert classes([next_]) == ["od"]


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": []},
        {"affinity": {"nodeAffinity": 7}},
        {"tolerations": "all"},
        {"tolerations": [{"tolerationSeconds": 1.5}]},
        {"nodeSelector": {"x": "y" * 2_000_000}},
        {"affinity": {"nodeAffinity": json.loads('{"a":' * 300 + "1" + "}" * 300)}},
    ],
    ids=["a list", "a number", "a text", "a fraction", "too much", "too deep"],
)
async def test_a_pod_that_cannot_be_read_is_not_stopped(webhook: Webhook, spec: Json) -> None:
    await split(webhook, "unreadable", 9, "0")

    answer = await webhook.mutate(review(of("unreadable", spec=spec)))

    assert answer.response["allowed"]
    again = await webhook.mutate(review(of("unreadable")))
    assert classes([again]) == ["spot"]


async def test_a_uid_that_no_event_can_bear_is_not_stopped(webhook: Webhook) -> None:
    asked = review(pod(("ReplicaSet", "nobody-7")), asked="u\x9f")

    answer = await webhook.mutate(asked)

    assert answer.response["uid"] == "u\x9f"
    assert answer.response["allowed"]


async def test_the_policy_names_label_weight_and_tolerations(webhook: Webhook) -> None:
    await split(webhook, "clouds", 3, "0")
    await webhook.tell(
        policy(
            label="karpenter.sh/capacity-type",
            weight=7,
            tolerations=[{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
        )
    )
    try:
        answer = await webhook.mutate(review(of("clouds")))
        pinned = of("clouds", spec={"nodeSelector": {"karpenter.sh/capacity-type": "on-demand"}})
        insisting = await webhook.mutate(review(pinned))
    finally:
        await webhook.tell(policy(label=None, weight=None, tolerations=None))

    found = answer.applied(of("clouds"))["spec"]
    (preferred,) = found["affinity"]["nodeAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    assert preferred["weight"] == 7
    assert preferred["preference"]["matchExpressions"][0]["key"] == "karpenter.sh/capacity-type"
    assert found["tolerations"] == [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]
    assert classes([insisting]) == ["od"]


async def until_decided(webhook: Webhook) -> None:
    """Wait until whatever was told is decided."""

    async def done() -> bool:
        ((waits,),) = await webhook.rows(
            "SELECT (SELECT max(size) FROM ledger.heads WHERE tree = 'events')"
            " > (SELECT max(through) + 1 FROM ledger.decided)"
        )
        return not waits

    await until(done)


@pytest.mark.parametrize("what", ["StatefulSet", "Deployment", "both", "removed"])
async def test_a_pod_waits_a_little_for_its_workload(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(admitting, "OWNER_SECONDS", 30.0)
    name = f"soon-{what}".lower()
    kind = "StatefulSet" if what == "StatefulSet" else "Deployment"
    about = pod((kind, name), name=f"{name}-0") if kind == "StatefulSet" else of(name)
    wanted = deployment(name, 5, "3", kind=kind)
    later = [wanted]
    if what == "Deployment":
        await webhook.tell(replicaset(name, "7", 5))
    elif what == "both":
        later.append(replicaset(name, "7", 5))
    elif what == "removed":
        gone = {"namespace": "shop", "name": name}
        removed = told("workload.workload.removed", f"shop/{name}", gone)
        await webhook.tell(replicaset(name, "7", 5), wanted, removed)
        later = [deployment(name, 5, "3")]

    asking = asyncio.create_task(webhook.mutate(review(about, asked=f"{name}-asks")))
    await webhook.tell(*later)
    answer = await asking

    assert classes([answer]) == ["od"]


async def test_a_workload_that_nobody_tells_of_is_waited_for_once(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admitting, "OWNER_SECONDS", 0.5)
    await webhook.tell(replicaset("nobodys", "7", 3))

    answers, waits = [], []
    for _ in range(2):
        began = perf_counter()
        answers.append(await webhook.mutate(review(of("nobodys"))))
        waits.append(perf_counter() - began)

    unknown = ["ledger: the workload is not known, the pod is left as it is"]
    assert [one.warnings for one in answers] == [unknown, unknown]
    assert waits[0] >= 0.5
    assert "wait;dur=" in answers[1].headers["server-timing"]
    assert float(answers[1].headers["server-timing"].split(",")[0].partition("=")[2]) < 400


async def test_a_pod_waits_a_little_for_its_replicaset(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long this machine takes to tell of it.
    monkeypatch.setattr(admitting, "OWNER_SECONDS", 30.0)
    await webhook.tell(deployment("soon", 3, "1"))

    asking = asyncio.create_task(webhook.mutate(review(of("soon"))))
    await webhook.tell(replicaset("soon", "7", 3))
    answer = await asking

    ((told_first, asked),) = await webhook.rows(
        "SELECT min(position) FILTER (WHERE type LIKE '%replicaset%'),"
        " min(position) FILTER (WHERE type LIKE '%admission%')"
        " FROM ledger.events WHERE subject IN ('m1/shop/soon-7', 'shop/soon-7')"
    )
    assert told_first < asked
    assert classes([answer]) == ["od"]


@pytest.mark.parametrize(
    "owner",
    [
        None,
        {"kind": "Rollout", "name": "beyond"},
        {"kind": "Deployment", "name": "beyond", "group": "example.com"},
    ],
    ids=["a bare one", "a Rollout's", "a Deployment's of another group"],
)
async def test_a_replicaset_that_is_no_deployments_is_not_split_and_not_recorded(
    webhook: Webhook, owner: Json | None
) -> None:
    name = f"beyond-{uid()}"
    said = json.loads(replicaset(name, "7", 3))
    said["data"]["owner"] = owner
    await webhook.tell(deployment("beyond", 3, "1"), json.dumps(said).encode() + b"\n")
    before = await webhook.asked()
    asked = review(pod(("ReplicaSet", f"{name}-7")))

    answers = [await webhook.mutate(asked) for _ in range(2)]

    for answer in answers:
        assert answer.response == {"uid": asked["request"]["uid"], "allowed": True}
    assert await webhook.asked() == before


async def test_a_replicaset_that_nobody_tells_of_stops_nobody(webhook: Webhook) -> None:
    await webhook.tell(deployment("never", 3, "1"))

    answers = [await webhook.mutate(review(of("never"))) for _ in range(2)]

    assert classes(answers) == ["od", "spot"]


async def test_a_strict_policy_refuses_what_was_not_given(webhook: Webhook) -> None:
    await split(webhook, "strict", 3, "1")
    created = of("strict")
    mutated = await webhook.mutate(review(created))
    given = mutated.applied(created) | {"kind": "Pod"}
    stripped = json.loads(json.dumps(given))
    del stripped["spec"]["affinity"]
    foreign = json.loads(json.dumps(given))
    foreign["metadata"]["ownerReferences"][0]["name"] = "slots-7"
    invented = of("strict", annotations={RESERVATION: "shop/1/77777"})
    odd = of("strict", annotations={RESERVATION: "anything"})
    costless, cheap = json.loads(json.dumps(given)), json.loads(json.dumps(given))
    del costless["metadata"]["annotations"][COST]
    cheap["metadata"]["annotations"][COST] = "-5"

    lenient = await webhook.validate(review(stripped))
    await webhook.tell(policy(strictness="strict"))
    try:
        answers = [
            await webhook.validate(review(one))
            for one in (given, created, stripped, foreign, invented, odd, costless, cheap)
        ]
    finally:
        await webhook.tell(policy(strictness=None))

    assert [answer.response["allowed"] for answer in answers] == [
        *(True, True, False, False, False, False, False, False)
    ]
    assert answers[6].response["status"]["message"] == (
        "ledger: the pod lacks what its reservation gave it:"
        " controller.kubernetes.io/pod-deletion-cost 1"
    )
    assert answers[2].response["status"] == {
        "code": 403,
        "message": "ledger: the pod lacks what its reservation gave it: /spec/affinity",
    }
    assert lenient.response["allowed"]
    assert len(lenient.warnings) == 1


@pytest.mark.parametrize(
    ("annotation", "replicas", "allowed"),
    [("2", 5, False), ("3", 5, True), ("5", 5, False), ("many", 5, False), (None, 5, True)],
)
async def test_a_strict_policy_refuses_a_statefulset_without_a_majority(
    webhook: Webhook,
    annotation: str | None,
    replicas: int,
    *,
    allowed: bool,
) -> None:
    notes = {} if annotation is None else {"distributed-scheduling/min-available": annotation}
    about = {"metadata": {"name": "db", "annotations": notes}, "spec": {"replicas": replicas}}
    await webhook.tell(policy(strictness="strict"))
    try:
        answer = await webhook.validate(
            review(about, operation="UPDATE", resource=("apps", "statefulsets"))
        )
    finally:
        await webhook.tell(policy(strictness=None))

    assert answer.response["allowed"] == allowed


def a_set(annotation: str, replicas: Any, **metadata: Any) -> Json:
    """A StatefulSet, as far as it is looked at."""
    notes = {"distributed-scheduling/min-available": annotation}
    return {
        "metadata": {"name": "db", "annotations": notes, **metadata},
        "spec": {"replicas": replicas},
    }


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        (
            a_set("2", 5, finalizers=["x"]),
            a_set("2", 5, deletionTimestamp="2026-01-01T00:00:00Z"),
            True,
        ),
        (a_set("2", 5), a_set("2", 5, labels={"team": "a"}), True),
        (a_set("2", 5), a_set("1", 5), False),
        (a_set("3", 5), a_set("3", 7), False),
    ],
    ids=["it is about to go", "something else is written", "another minimum", "other replicas"],
)
async def test_a_strict_policy_stops_only_who_changes_what_it_forbids(
    webhook: Webhook, before: Json, after: Json, *, allowed: bool
) -> None:
    question = review(after, operation="UPDATE", resource=("apps", "statefulsets"))
    question["request"]["oldObject"] = before
    await webhook.tell(policy(strictness="strict"))
    try:
        answer = await webhook.validate(question)
    finally:
        await webhook.tell(policy(strictness=None))

    assert answer.response["allowed"] == allowed


@pytest.mark.parametrize("replicas", [-1, True, "5", 1.5])
async def test_replicas_that_nobody_can_read_are_for_the_api_server_to_refuse(
    webhook: Webhook, replicas: Any
) -> None:
    question = review(a_set("3", replicas), resource=("apps", "statefulsets"))
    await webhook.tell(policy(strictness="strict"))
    try:
        answer = await webhook.validate(question)
    finally:
        await webhook.tell(policy(strictness=None))

    assert answer.response["allowed"]
    assert answer.warnings == ["ledger: spec.replicas cannot be read"]


@pytest.mark.parametrize(("replicas", "allowed"), [(5, True), (7, False), (3, False)])
async def test_a_strict_policy_refuses_to_scale_past_what_is_named(
    webhook: Webhook,
    replicas: int,
    *,
    allowed: bool,
) -> None:
    await webhook.tell(deployment("scaled", 5, "3", kind="StatefulSet"))
    question = review(
        {"metadata": {"name": "scaled"}, "spec": {"replicas": replicas}},
        operation="UPDATE",
        resource=("apps", "statefulsets"),
    )
    question["request"] |= {"subResource": "scale", "name": "scaled"}
    await webhook.tell(policy(strictness="strict"))
    try:
        answer = await webhook.validate(question)
    finally:
        await webhook.tell(policy(strictness=None))

    assert answer.response["allowed"] == allowed


@pytest.mark.parametrize("what", ["a Deployment's", "removed", "stale", "removed in another life"])
async def test_a_scale_is_judged_by_the_set_that_is_there_and_by_nothing_else(
    webhook: Webhook, what: str
) -> None:
    name = f"bound-{uid()}"
    kind = "Deployment" if what == "a Deployment's" else "StatefulSet"
    told_first = deployment(name, 5, "1", kind=kind, uid="first", revision=1)
    gone = {"namespace": "shop", "name": name, "uid": "other"}
    match what:
        case "removed":
            del gone["uid"]
            more = [told("workload.workload.removed", f"shop/{name}", gone)]
        case "stale":
            newer = deployment(name, 5, "5", kind=kind, uid="first", revision=3)
            more = [newer, deployment(name, 5, "1", kind=kind, uid="first", revision=2)]
        case "removed in another life":
            more = [told("workload.workload.removed", f"shop/{name}", gone)]
        case _:
            more = []
    await webhook.tell(told_first, *more)
    await until_decided(webhook)
    replicas = 9 if what != "stale" else 5
    question = review(
        {"metadata": {"name": name}, "spec": {"replicas": replicas}},
        operation="UPDATE",
        resource=("apps", "statefulsets"),
    )
    question["request"] |= {"subResource": "scale", "name": name}
    await webhook.tell(policy(strictness="strict"))
    try:
        answer = await webhook.validate(question)
    finally:
        await webhook.tell(policy(strictness=None))

    # A newer report wants all five, which no majority follows either; the stale one would want one.
    said = answer.response.get("status", {}).get("message", "")
    if what == "stale":
        assert "min-available is 5" in said
    else:
        assert answer.response["allowed"] == (what != "removed in another life")


@pytest.mark.parametrize(
    ("timeout", "decided", "told"),
    [
        (None, 9.5, 0.3),
        ("10s", 9.5, 0.3),
        ("3s", 2.5, 0.3),
        ("1s", 0.5, 0.3),
        ("500ms", 0.25, 0.15),
        ("1m", 29.5, 0.3),
        ("999999m", 29.5, 0.3),
    ],
)
async def test_an_answer_comes_before_the_api_server_gives_up(
    timeout: str | None, decided: float, told: float
) -> None:
    assert patience(timeout) == (decided, told)


async def test_warnings_are_as_short_as_kubernetes_asks() -> None:
    assert all(len(text) <= 120 for text in answering.warned(answering.WARNINGS))
    assert sum(len(text) for text in answering.warned(answering.WARNINGS)) < 4096


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 1},
        {"op": "add", "path": "/missing/a", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a"},
        {"op": "add", "path": "/list/3", "value": 1},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "add", "path": "/list/x/y", "value": 1},
        {"op": "add", "path": "/text/a", "value": 1},
        {"op": "add", "path": "/spec/affinity", "value": {}},
        "add",
    ],
)
async def test_an_operation_that_cannot_be_done_is_noticed(operation: Any) -> None:
    with pytest.raises(Inapplicable):
        json_patch.apply(
            {"list": [1, 2], "text": "t", "spec": {"affinity": {"podAffinity": {}}}}, [operation]
        )


async def test_operations_are_done_as_the_standard_says() -> None:
    document: Json = {"list": [1], "a/b": {"c~d": {}}, "spec": {"affinity": None}, "note": "old"}

    json_patch.apply(
        document,
        [
            {"op": "add", "path": "/list/0", "value": 0},
            {"op": "add", "path": "/list/-", "value": 2},
            {"op": "add", "path": "/a~1b/c~0d/e", "value": None},
            {"op": "add", "path": "/spec/affinity", "value": {}},
            {"op": "add", "path": "/note", "value": "new"},
        ],
    )

    assert document == {
        "list": [0, 1, 2],
        "a/b": {"c~d": {"e": None}},
        "spec": {"affinity": {}},
        "note": "new",
    }

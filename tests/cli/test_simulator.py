"""The invented fleet: the same for the same seed, always acceptable, as large and as lively as asked."""

import json
import os
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from itertools import islice, pairwise
from typing import Any

import pytest

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Mix, Shares, Sizes
from ledger.events.codec import Accepted, accept_line
from ledger.events.registry import REGISTRY
from ledger.log.lines import FAMILIES

REPORTS_ONLY = Mix(reports=1, changes=0, decisions=0, late=0)
LIVELY = Mix(reports=0, changes=0, decisions=1, late=0)


def told(simulation: Simulation, count: int) -> list[dict[str, Any]]:
    return [json.loads(event) for event in simulation.events(count)]


def opening(simulation: Simulation) -> list[dict[str, Any]]:
    return told(simulation, simulation.opening)


def of(events: list[dict[str, Any]], noun: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"].split(".")[2] == noun]


def test_the_same_seed_tells_the_same_history() -> None:
    assert list(Simulation(7).events(2000)) == list(Simulation(7).events(2000))


def test_another_seed_tells_another_history() -> None:
    assert list(Simulation(7).events(200)) != list(Simulation(8).events(200))


def test_asking_in_parts_tells_the_same_as_asking_at_once() -> None:
    in_parts = Simulation(7)

    parts = [*in_parts.events(1), *in_parts.events(499), *in_parts.events(500)]

    assert parts == list(Simulation(7).events(1000))


def test_no_hash_seed_shows_in_a_history() -> None:
    program = (
        "from hashlib import sha256\n"
        "from ledger.cli.simulator.history import Simulation\n"
        "print(sha256(b'\\n'.join(Simulation(7).events(3000))).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }

    assert digests == {sha256(b"\n".join(Simulation(7).events(3000))).hexdigest().encode()}


def test_every_event_is_accepted_and_has_an_identity_of_its_own() -> None:
    verdicts = [accept_line(event, families=FAMILIES) for event in Simulation(7).events(5000)]

    assert all(isinstance(verdict, Accepted) for verdict in verdicts)
    identities = {verdict.identity for verdict in verdicts if isinstance(verdict, Accepted)}
    assert len(identities) == len(verdicts)


def test_time_only_moves_forward_but_for_what_is_late() -> None:
    times = [event["time"] for event in told(Simulation(7, mix=Mix(late=0)), 3000)]
    some_late = [event["time"] for event in told(Simulation(7, mix=Mix(late=50)), 3000)]

    assert all(earlier < later for earlier, later in pairwise(times))
    late = sum(later < earlier for earlier, later in pairwise(some_late))
    assert 3000 * 0.02 < late < 3000 * 0.08


def test_what_is_late_is_what_would_have_been_in_time() -> None:
    late = list(Simulation(7, mix=Mix(late=50)).events(2000))
    in_time = set(Simulation(7, mix=Mix(late=0)).events(2000))

    assert set(late) <= in_time | set(late[-5:])
    assert late != sorted(late, key=lambda event: json.loads(event)["time"])


def test_some_reports_are_stale_when_they_arrive() -> None:
    newest: dict[tuple[str, str, str], int] = {}
    stale = 0
    for event in told(Simulation(7), 5000):
        data = event["data"]
        if "revision" in data:
            key = (event["type"].split(".")[2], event["subject"], data.get("uid", ""))
            stale += data["revision"] < newest.get(key, 0)
            newest[key] = max(newest.get(key, 0), data["revision"])

    assert 5 < stale < 100


@pytest.mark.parametrize("seed", [1, 2, 3, 7, 20_260_105])
def test_every_family_and_verb_occurs(seed: int) -> None:
    said = {event["type"] for event in told(Simulation(seed), 5000)}

    assert said == {type_ for type_, one in REGISTRY.contracts.items() if one.family != "own"}


def test_each_event_goes_to_the_topic_of_its_family() -> None:
    topics = Counter(message.topic for message in Simulation(7).messages(5000))

    assert topics.keys() == {
        *("ledger.cluster", "ledger.workload", "ledger.quota", "ledger.disk", "ledger.control")
    }


def test_a_message_goes_to_its_fleets_key() -> None:
    (message,) = Simulation(7, fleet="north").messages(1)

    assert message.key == b"north"
    assert json.loads(message.value)["fleet"] == "north"


def test_a_fleet_is_raised_under_a_hold_that_ends_before_the_last_cluster_joins() -> None:
    events = opening(Simulation(7))

    policies = [place for place, event in enumerate(events) if "hold" in event["data"]]
    assert [events[place]["data"]["hold"] for place in policies] == [True, False]
    assert policies[0] == 0
    joined = of(events[policies[1] :], "cluster")
    assert len({event["data"].get("cluster", event["subject"]) for event in joined}) == 1
    assert {event["type"].split(".")[2] for event in events[policies[1] + 1 :]} == {
        *("cluster", "node", "disk")
    }


def test_a_mix_of_reports_only_asks_for_nothing() -> None:
    simulation = Simulation(7, mix=REPORTS_ONLY)
    objects: dict[tuple[str, str], dict[str, Any]] = {}
    for event in opening(simulation):
        noun = event["type"].split(".")[2]
        objects[noun, event["subject"]] = event["data"] | {"revision": None}

    for event in told(simulation, 3000):
        noun = event["type"].split(".")[2]
        assert noun in {"pod", "replicaset", "node", "disk"}
        if noun in {"node", "disk"}:
            assert event["data"] | {"revision": None} == objects[noun, event["subject"]]


def test_pods_of_those_that_the_ledger_places_wait_for_a_node() -> None:
    simulation = Simulation(7, shares=Shares(placed=100), mix=REPORTS_ONLY)
    opening(simulation)

    pods = [pod["data"] for pod in of(told(simulation, 3000), "pod") if "phase" in pod["data"]]
    there = [pod for pod in pods if "node" in pod and pod["namespace"] != "kube-system"]
    assert 0 < len(there) < len(pods) / 10


def test_a_pod_stays_where_it_is() -> None:
    places: dict[str, set[str]] = {}
    for pod in of(told(Simulation(7), 5000), "pod"):
        if pod["data"].get("phase") == "Running":
            places.setdefault(pod["data"]["uid"], set()).add(pod["data"]["node"])

    assert len(places) > 100
    assert all(len(nodes) == 1 for nodes in places.values())


def test_replicas_follow_the_day() -> None:
    """A workload has more at its busiest hour than half a day later."""
    simulation = Simulation(7, mix=Mix(0, 0, 1000), step=6_000_000)
    opening(simulation)
    by_hour: dict[int, list[int]] = {}
    for event in told(simulation, 30_000):
        data = event["data"]
        if event["type"] == "ledger.workload.workload.upserted.v1" and data["kind"] != "Job":
            by_hour.setdefault(int(event["time"][11:13]), []).append(data["replicas"])

    mean = {hour: sum(found) / len(found) for hour, found in by_hour.items()}
    assert mean[14] > 1.3 * mean[2]


def test_jobs_end_and_are_followed_by_others() -> None:
    simulation = Simulation(7, mix=LIVELY)
    ended: Counter[str] = Counter()
    tasks: dict[str, int] = {}
    for event in told(simulation, 10_000):
        data = event["data"]
        if data.get("kind") == "Job":
            assert 1 <= data["gang_min"] <= data["replicas"]
            tasks[data["uid"]] = data["replicas"]
        elif event["type"] == "ledger.workload.job.finished.v1":
            assert data.get("task", 0) < tasks[data["uid"]]
            ended[data["uid"]] += 1 if "task" in data else tasks[data["uid"]]

    assert len(tasks) > 50
    assert sum(ended[uid] >= count for uid, count in tasks.items()) > len(tasks) / 2


def test_replicas_of_volumes_fail_under_names_that_the_ledger_gives() -> None:
    simulation = Simulation(7, mix=LIVELY)
    gone: dict[str, set[str]] = {}
    most = 0
    for event in told(simulation, 10_000):
        data = event["data"]
        if event["type"] == "ledger.disk.volume.removed.v1":
            gone.pop(data["name"])
        elif event["type"] == "ledger.disk.volume.upserted.v1":
            gone.setdefault(data["name"], set())
        elif event["type"] == "ledger.disk.replica.failed.v1":
            volume, _, number = data["replica"].rpartition("-r")
            assert volume == data["volume"]
            assert data["replica"] not in gone[volume], "a number is never used twice"
            most = max(most, int(number))
            if "reusable" not in data:
                gone[volume].add(data["replica"])

    assert most > 5


def test_a_fleet_is_as_large_as_it_was_asked_to_be() -> None:
    sizes = Sizes(
        clusters=3, nodes=5, workloads=50, namespaces=4, queues=7, disks=2, volumes=11, replicas=999
    )
    simulation = Simulation(7, sizes=sizes, shares=Shares(batch=30))
    events = opening(simulation)

    found = Counter(event["type"].split(".")[2] for event in events)
    assert found == {
        "policy": 2, "queue": 7, "quota": 4, "cluster": 3, "node": 15, "disk": 30,
        "workload": 50, "volume": 11,
    }  # fmt: skip
    workloads = [event["data"] for event in of(events, "workload")]
    assert sum(workload["replicas"] for workload in workloads) == 999
    assert sum(workload["kind"] == "Job" for workload in workloads) == 15
    pods = [json.loads(event) for event in simulation.pods()]
    assert len({pod["subject"] for pod in pods}) == len(pods)
    divided = sum(one["replicas"] for one in workloads if one["kind"] != "Job")
    assert len(pods) == divided


def test_shares_are_kept() -> None:
    sizes = Sizes(clusters=4, nodes=200, workloads=500)
    events = opening(Simulation(7, sizes=sizes, shares=Shares(spot=50, pieces=10, stateful=40)))

    nodes = [event["data"] for event in of(events, "node")]
    spot = sum(node["labels"]["node.kubernetes.io/capacity"] == "spot" for node in nodes)
    assert 0.4 < spot / len(nodes) < 0.6
    assert 0.05 < sum("cores" in node for node in nodes) / len(nodes) < 0.15
    workloads = [event["data"] for event in of(events, "workload")]
    owned = [one for one in workloads if one["kind"] != "Job"]
    assert 0.3 < sum(one["kind"] == "StatefulSet" for one in owned) / len(owned) < 0.5
    assert 0.4 < sum("deploy" in one for one in owned) / len(owned) < 0.6


def test_clusters_that_are_lost_come_back() -> None:
    simulation = Simulation(7, mix=LIVELY)
    ready: dict[str, list[bool]] = {}

    for event in map(json.loads, simulation.events(20_000)):
        if event["type"] == "ledger.cluster.cluster.upserted.v1":
            ready.setdefault(event["subject"], []).append(event["data"]["ready"])
        elif event["type"] == "ledger.cluster.cluster.removed.v1":
            ready[event["subject"]].append(False)

    assert all(any(states) and not all(states) for states in ready.values())
    back = [later for states in ready.values() for now, later in pairwise(states) if not now]
    assert back.count(True) > len(back) / 2


def test_trouble_comes_beside_the_good_events_and_leaves_them_as_they_are() -> None:
    good = list(Simulation(7).events(1000))

    troubled = list(Simulation(7, mix=Mix(trouble=100)).events(1500))

    remaining = iter(troubled)
    assert all(event in remaining for event in good), "the good ones are all there, in their order"


def test_trouble_is_of_every_kind_that_the_log_sets_aside() -> None:
    verdicts = [
        accept_line(event, families=FAMILIES)
        for event in Simulation(7, mix=Mix(trouble=200)).events(3000)
    ]

    reasons = {verdict.reason for verdict in verdicts if not isinstance(verdict, Accepted)}
    accepted = [verdict for verdict in verdicts if isinstance(verdict, Accepted)]
    contents: dict[bytes, set[bytes]] = {}
    for verdict in accepted:
        contents.setdefault(verdict.identity, set()).add(verdict.digest)
    assert reasons == {"not_json", "unknown_version"}
    assert any(len(digests) > 1 for digests in contents.values()), "a conflict"
    assert len(contents) < sum(map(len, contents.values())) < len(accepted), "and duplicates"


@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(clusters=1, nodes=1, workloads=1, namespaces=1, queues=1),
        Sizes(clusters=2, nodes=1, workloads=3, disks=0),
        Sizes(clusters=20, nodes=2, workloads=5, volumes=0),
        Sizes(clusters=3, nodes=3, workloads=9, volumes=40),
    ],
)
def test_any_fleet_can_be_raised_and_lives(sizes: Sizes) -> None:
    simulation = Simulation(3, sizes=sizes)

    events = list(simulation.events(3000))

    assert len(events) == 3000
    assert all(isinstance(accept_line(one, families=FAMILIES), Accepted) for one in events)


@pytest.mark.parametrize("shares", [Shares(0, 0, 0, 0, 0), Shares(100, 100, 100, 100, 100)])
def test_any_fleet_can_be_made_of_one_kind_alone(shares: Shares) -> None:
    assert len(list(islice(Simulation(3, shares=shares).endless(), 3000))) == 3000
